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
