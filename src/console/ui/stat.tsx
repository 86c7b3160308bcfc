import type { ReactNode } from "react";

/** A row of figures. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className="stats">{children}</dl>;
}

/** A labelled figure; an undefined `value` shows a placeholder. */
export function Stat({ label, value, note }: { label: string; value: ReactNode; note?: ReactNode }) {
  return (
    <div className="stat">
      <dt>{label}</dt>
      <dd>
        <span className="stat-value">
          {value ?? <span className="stat-wait" aria-label="Loading" role="status" />}
        </span>
        {note !== undefined && <span className="stat-note">{note}</span>}
      </dd>
    </div>
  );
}
