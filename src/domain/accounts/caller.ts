import type { MicroUsd } from "../core/money.ts";
import type { RateTier } from "./rate-limit.ts";
import type { RequestLogSettings } from "./request-log.ts";
import type { Scope } from "./scope.ts";

/** Limits of single calls of an API key, besides its scopes. */
export interface AccessLimits {
  /** Undefined: never. */
  expiresAt: Date | undefined;
  /** Maximum price of a call, micro-USD; undefined: unlimited. */
  perCall: MicroUsd | undefined;
  /** Names of allowed tools; undefined: all. */
  tools: ReadonlySet<string> | undefined;
}

/** The authenticated caller (specification 5). */
export interface Caller {
  keyId: string;
  accountId: string;
  scopes: ReadonlySet<Scope>;
  /** Of each API key. */
  tier: RateTier;
  /** Shared by all API keys of the account. */
  accountTier: RateTier;
  /** Whether the account has the operator role, required by the internal services. */
  operator: boolean;
  /** Undefined: no limits besides the scopes. */
  limits: AccessLimits | undefined;
  /** Whether limits of the key or its group bound what it takes from the balance. The ledger checks them. */
  budgeted: boolean;
  /** Version of the account's limits that these were read at; the ledger compares it. */
  limitsVersion: number;
  /** Why the operator blocked the account; undefined when not blocked. */
  blockedReason: string | undefined;
  /** Undefined: the default. */
  requestLog?: RequestLogSettings | undefined;
}

/** Whether the key's limits allow the tool. Does not check scopes. */
export function allowsTool({ limits }: Caller, tool: string): boolean {
  return limits?.tools === undefined || limits.tools.has(tool);
}
