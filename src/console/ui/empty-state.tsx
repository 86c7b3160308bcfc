import type { ReactNode } from "react";

/** What stands where there is nothing yet: `title` says what will be here, `children` how to get there, `action` the button for it. */
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
