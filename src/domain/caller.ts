import type { RateTier } from "./rate-limit.ts";
import type { Scope } from "./scope.ts";

/** Who calls: what a verified API key stands for (specification 5). */
export interface Caller {
  keyId: string;
  accountId: string;
  scopes: ReadonlySet<Scope>;
  tier: RateTier;
  /** Whether the account has the operator role, which the internal services ask for. */
  operator: boolean;
}
