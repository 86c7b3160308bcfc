import type { ReactNode } from "react";

/** Figures in a row. */
export function Stats({ children }: { children: ReactNode }) {
  return <dl className="stats">{children}</dl>;
}

/** A figure: what it is (`label`), its `value` (undefined while it is loading) and a `note` below. */
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
