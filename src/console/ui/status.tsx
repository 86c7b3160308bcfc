import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

const ICONS = {
  ok: "check",
  bad: "cross",
  warn: "warn",
  wait: "clock",
  off: "dot",
} as const satisfies Record<string, IconName>;

/** A status with an icon, so that it does not rely on colour. */
export function Status({ kind, children }: { kind: keyof typeof ICONS; children: ReactNode }) {
  return (
    <span className={`status status-${kind}`}>
      <Icon name={ICONS[kind]} />
      {children}
    </span>
  );
}

/** A name that a user chose, on one line. A long one is cut for the eye; the tooltip shows it whole. */
export function Name({ name }: { name: string }) {
  return (
    <span className="name" title={name}>
      {name}
    </span>
  );
}

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
