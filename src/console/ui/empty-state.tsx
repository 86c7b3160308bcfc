import type { ReactNode } from "react";

/** Shown in place of an empty list: a title, an explanation and a button. */
export function EmptyState({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="empty">
      <p className="empty-title">{title}</p>
      {children !== undefined && <div className="empty-text">{children}</div>}
      {action !== undefined && <div className="actions">{action}</div>}
    </div>
  );
}
