import { randomBytes } from "node:crypto";
import type { ToolCall } from "../../src/app/calls/call-tool.ts";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import { DEFAULT_TIER, type Caller } from "../../src/domain/accounts/caller.ts";
import type { CallContext } from "../../src/domain/calls/call-context.ts";
import { newId } from "../../src/domain/core/ids.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import type { CallPorts } from "../../src/gateway/call-tool-deps.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { TestTools } from "../transport/test-tools.ts";
import { unusedPaymentPorts } from "./payments/payment-ports.ts";

/** A caller with an account and a key of its own, the scope compute:read and no limits. */
export function newCaller(change: Partial<Caller> = {}): Caller {
  return {
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
    ...change,
  };
}

/** The context of a call by a new account. */
export function newContext(change: Partial<CallContext> = {}): CallContext {
  return { caller: newCaller(), requestId: "req_1", signal: new AbortController().signal, ...change };
}

/** A call without parameters, proof and key. */
export function toolCall(tool: string, change: Partial<ToolCall> = {}): ToolCall {
  return {
    tool,
    params: {},
    xPayment: undefined,
    paymentProof: undefined,
    idempotencyKey: undefined,
    ...change,
  };
}

/** A limit of unpaid work that refuses no call. */
export const unlimitedWork = { requireAllowance: () => {}, charged: () => {}, failed: async () => {} };

/** A secret that seals quotes. */
export function newSealingKeys() {
  const key = { version: 1, secret: randomBytes(32) };
  return { current: () => key, version: () => key, find: async () => key };
}

/** Ports of calls to the test tools. The chain knows no payment. */
export function callPorts(change: Partial<CallPorts> & Pick<CallPorts, "ledger">): CallPorts {
  return {
    unpaidWork: unlimitedWork,
    catalogue: new Catalogue(new TestTools().list()),
    chain: { verify: async () => ({ kind: "not_found" }) },
    quotes: new Quotes(newSealingKeys(), change.clock ?? systemClock, systemRandom, 300),
    clock: systemClock,
    random: systemRandom,
    ...unusedPaymentPorts,
    stopping: new AbortController().signal,
    ...change,
  };
}
