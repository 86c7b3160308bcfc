import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";

const ICONS = {
  ok: "check",
  bad: "cross",
  warn: "warn",
  wait: "clock",
  off: "dot",
} as const satisfies Record<string, IconName>;

/** How something is, in a word with a picture of its own beside it: never by colour alone. */
export function Status({ kind, children }: { kind: keyof typeof ICONS; children: ReactNode }) {
  return (
    <span className={`status status-${kind}`}>
      <Icon name={ICONS[kind]} />
      {children}
    </span>
  );
}
