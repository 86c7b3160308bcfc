import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { beforeEach, describe, expect, it } from "vitest";
import { callTool } from "../../../src/app/calls/call-tool.ts";
import type { CallPorts } from "../../../src/gateway/call-tool-deps.ts";
import { Catalogue, CatalogueVersion } from "../../../src/app/calls/catalogue.ts";
import { type CallContext, fingerprint } from "../../../src/domain/calls/call-context.ts";
import type { PaymentVerdict } from "../../../src/app/payments/payment-methods.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { withPayments } from "../payments/payment-ports.ts";
import { MemoryLedger } from "../../transport/memory-ledger.ts";
import { TestTools } from "../../transport/test-tools.ts";
import { newContext, callPorts, toolCall } from "../context.ts";

const PRICE = 10_000n;

let ledger: MemoryLedger;
let verdict: (memo: string) => PaymentVerdict;
let memo: string;
let context: CallContext;
let deps: CallPorts;

beforeEach(() => {
  ledger = new MemoryLedger();
  const paid = { amount: PRICE, payer: undefined, slot: 1n, blockTime: new Date(), finalized: true };
  verdict = (text) => ({ kind: "paid", memo: text, ...paid });
  context = newContext();
  deps = callPorts({ ledger, chain: { verify: async () => verdict(memo) } });
});

const balance = () => ledger.balance(context.caller.accountId);

/** Calls `paid` under the key `k` with a fresh payment of a fresh quote. */
function callPaid() {
  const { quoteId } = deps.quotes.issue(context.caller.accountId, PRICE, fingerprint("paid", {}));
  memo = `svc:${quoteId}`;
  const paymentProof = { txRef: base58.encode(randomBytes(64)), network: "solana-mainnet", memo };
  return callTool(withPayments(deps), toolCall("paid", { paymentProof, idempotencyKey: "k" }), context);
}

describe("a second payment for a charged call", () => {
  it("returns the first result and credits a second payment of a charged call", async () => {
    const first = await callPaid();
    expect(await balance()).toBe(0n);
    expect(await callPaid()).toEqual(first);
    expect(await balance()).toBe(PRICE);
  });

  it.each<PaymentVerdict>([
    { kind: "not_found" },
    { kind: "not_finalized" },
    { kind: "refused", reason: "it failed" },
  ])("returns the stored result when the chain reports the second payment as $kind", async (other) => {
    const first = await callPaid();
    verdict = () => other;
    ledger.findPrior = async () => ({ kind: "replay", ...first });
    expect(await callPaid()).toEqual(first);
    expect(await balance()).toBe(0n);
  });

  it("credits a second payment that was known before its lookup", async () => {
    const first = await callPaid();
    ledger.findPrior = async () => ({ kind: "replay", ...first });
    expect(await callPaid()).toEqual(first);
    expect(await balance()).toBe(PRICE);
  });
});

describe("a tool that returns one object repeatedly and changes it", () => {
  it.each([
    ["without a key", undefined, undefined],
    ["with a key", "one", "two"],
  ])("stores the result of each call %s as it was returned", async (_, ...keys) => {
    const result: JsonObject = {};
    const run = async () => Object.assign(result, { turn: Number(result["turn"] ?? 0) + 1 });
    const [free] = new TestTools().list();
    const catalogue = new Catalogue([{ ...free!, prepare: () => ({ price: 0n, run }) }]);
    const results: JsonObject[] = [];
    for (const idempotencyKey of keys) {
      const call = toolCall(free!.name, { idempotencyKey });
      results.push((await callTool(withPayments({ ...deps, catalogue }), call, context)).result);
    }
    expect(results).toEqual([{ turn: 1 }, { turn: 2 }]);
  });
});

describe("a configuration that is replaced during a call", () => {
  it("stays open until the call ends, and is the one that its run names", async () => {
    const running = Promise.withResolvers<JsonObject>();
    const [free] = new TestTools().list();
    const tool = { ...free!, prepare: () => ({ price: 0n, run: () => running.promise }) };
    const catalogue = new Catalogue([tool], 4);
    const versions: (number | undefined)[] = [];
    const { authorize } = ledger;
    ledger.authorize = (call) => {
      versions.push(call.configVersion);
      return authorize.call(ledger, call);
    };
    const call = toolCall(tool.name, { idempotencyKey: "k" });
    const called = callTool(withPayments({ ...deps, catalogue }), call, context);
    let closed = false;
    const replaced = catalogue.replace(new CatalogueVersion([], 5));
    const retired = replaced.retire().then(() => (closed = true));
    await new Promise(setImmediate);
    expect([closed, versions]).toEqual([false, [4]]);
    running.resolve({});
    await called;
    await retired;
  });
});

describe("a tool that fails while the ledger is unreachable", () => {
  it("returns UNAVAILABLE and keeps the tool's own failure as the cause", async () => {
    ledger.release = () => Promise.reject(new ToolgateError("UNAVAILABLE", "the database is away"));
    const call = toolCall("break", { idempotencyKey: "k" });
    await expect(callTool(withPayments(deps), call, context)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryAfterSeconds: 2,
      cause: {
        message: expect.stringContaining("the database is away"),
        cause: { code: "TOOL_FAILED", cause: { message: "postgres://user:secret@db/ is down" } },
      },
    });
  });
});
