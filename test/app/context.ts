import type { CallContext } from "../../src/domain/calls/call-context.ts";
import { newId } from "../../src/domain/core/ids.ts";
import { DEFAULT_TIER } from "../../src/domain/accounts/rate-limit.ts";
import { systemClock, systemRandom } from "../../src/system.ts";

/** The context of a call by a new account with the scope compute:read. */
export function newContext(): CallContext {
  return {
    caller: {
      keyId: newId("key", systemClock, systemRandom),
      accountId: newId("acct", systemClock, systemRandom),
      scopes: new Set(["compute:read"]),
      tier: DEFAULT_TIER,
      accountTier: DEFAULT_TIER,
      operator: false,
      limits: undefined,
      budgeted: false,
      limitsVersion: 0,
      blockedReason: undefined,
    },
    requestId: "req_1",
    signal: new AbortController().signal,
  };
}

/** A limit of unpaid work that refuses no call. */
export const unlimitedWork = { requireAllowance: () => {}, charged: () => {}, failed: async () => {} };
