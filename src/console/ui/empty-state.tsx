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

/** A placeholder while loading. `height` is per line, in pixels. */
export function Skeleton({ lines = 3, height = 16 }: { lines?: number; height?: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} style={{ height }} />
      ))}
    </div>
  );
}
