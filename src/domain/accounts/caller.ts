import type { MicroUsd } from "../core/money.ts";
import type { RateTier } from "./rate-limit.ts";
import type { Scope } from "./scope.ts";

/** What an API key may be used for, besides its scopes. It never changes: a key with other limits is another key. */
export interface KeyLimits {
  /** When it stops working; undefined: never. */
  expiresAt: Date | undefined;
  /** What a call may cost at most, micro-USD; undefined: anything. */
  perCall: MicroUsd | undefined;
  /** What it may take from the balance on one day of UTC, micro-USD; undefined: anything. Calls that are paid on the chain are not counted. */
  perDay: MicroUsd | undefined;
  /** Names of the tools that may be called with it; undefined: all. */
  tools: ReadonlySet<string> | undefined;
}

/** Who calls: what a verified API key stands for (specification 5). */
export interface Caller {
  keyId: string;
  accountId: string;
  scopes: ReadonlySet<Scope>;
  /** Of each key. */
  tier: RateTier;
  /** Of the account, over all its keys. */
  accountTier: RateTier;
  /** Whether the account has the operator role, which the internal services ask for. */
  operator: boolean;
  /** What the key may be used for; undefined: anything that its scopes allow. */
  limits: KeyLimits | undefined;
  /** `key_…`: what is spent on a day is counted under it, for the key and for those that it replaced. Undefined where nothing is counted. */
  budgetId: string | undefined;
  /** Why the operator blocked the account, of which no key may be used then; undefined: it is not blocked. */
  blockedReason: string | undefined;
}

/** Whether the key's limits let it call the tool. Of its scopes they say nothing. */
export function allowsTool({ limits }: Caller, tool: string): boolean {
  return limits?.tools === undefined || limits.tools.has(tool);
}
