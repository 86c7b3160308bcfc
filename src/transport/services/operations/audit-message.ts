import type { AuditFinding } from "../../../app/operations/audit.ts";

export function auditMessage(lines: readonly AuditFinding[]) {
  return {
    lines: lines.map(({ name, ...line }) => ({ invariant: name, ...line })),
    clean: lines.every(({ violations }) => violations === 0n),
  };
}
