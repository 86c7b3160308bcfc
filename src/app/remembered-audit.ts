import type { Clock } from "../domain/clock.ts";
import type { Audit } from "./audit.ts";
import type { LastAudit } from "./operations-ports.ts";

/** An audit, and what it found last, whoever asked for it. */
export interface CachedAudit {
  readonly audit: Audit;
  /** Undefined until one has ended. */
  readonly last: () => LastAudit | undefined;
}

/** Remembers what an audit finds. */
export function cachedAudit(audit: Audit, clock: Clock): CachedAudit {
  let found: LastAudit | undefined;
  return {
    audit: async (signal) => {
      const findings = await audit(signal);
      found = { at: new Date(clock.now()), findings };
      return findings;
    },
    last: () => found,
  };
}
