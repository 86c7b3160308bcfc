import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { beforeEach, describe, expect, it } from "vitest";
import { callTool, type ToolCall } from "../../../src/app/calls/call-tool.ts";
import type { CallPorts } from "../../../src/gateway/call-tool-deps.ts";
import { Catalogue } from "../../../src/app/calls/catalogue.ts";
import { type CallContext, fingerprint } from "../../../src/domain/calls/call-context.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import type { MicroUsd } from "../../../src/domain/core/money.ts";
import type { Tool } from "../../../src/domain/tools/tool.ts";
import { withPayments } from "../payments/payment-ports.ts";
import { systemClock } from "../../../src/system.ts";
import { MemoryLedger } from "../../transport/memory-ledger.ts";
import { callPorts, toolCall, newContext, newCaller } from "../context.ts";

const PRICE = 10_000n;
const TTL_MS = 300_000;

let now: number;
let memo: string;
let work: (signal: AbortSignal) => Promise<JsonObject>;
let reports: MicroUsd[];
let gone: AbortController;
let stopping: AbortController;
let ledger: MemoryLedger;
let context: CallContext;
let deps: CallPorts;

/** A paid tool whose result the test controls. */
const paid: Tool = {
  name: "paid",
  status: "active",
  billable: true,
  description: "",
  scope: "compute:run",
  inputSchema: {},
  fixedPrice: PRICE,
  prepare: () => ({
    price: PRICE,
    run: ({ signal, meter }) => {
      for (const used of reports) meter?.(used);
      return work(signal);
    },
  }),
};

beforeEach(() => {
  now = Date.now();
  const clock = { ...systemClock, now: () => now };
  ledger = new MemoryLedger();
  [gone, stopping] = [new AbortController(), new AbortController()];
  work = async () => ({ done: true });
  reports = [];
  context = newContext({ caller: newCaller({ scopes: new Set(["compute:run"]) }), signal: gone.signal });
  const payment = { amount: PRICE, payer: undefined, slot: 1n, blockTime: new Date(now), finalized: true };
  deps = callPorts({
    catalogue: new Catalogue([paid]),
    ledger,
    chain: { verify: async () => ({ kind: "paid", memo, ...payment }) },
    clock,
    stopping: stopping.signal,
  });
  ledger.balances.set(context.caller.accountId, PRICE);
});

const balance = () => ledger.balance(context.caller.accountId);
const statuses = () => ledger.entries.map(({ run }) => run.status);
const call = async (proof: Partial<ToolCall> = {}) =>
  callTool(withPayments(deps), toolCall("paid", proof), context);

/** A proof of a fresh payment of a fresh quote. */
function proof() {
  memo = `svc:${deps.quotes.issue(context.caller.accountId, PRICE, fingerprint("paid", {})).quoteId}`;
  return { paymentProof: { txRef: base58.encode(randomBytes(64)), network: "solana-mainnet", memo } };
}

/** Work that ends with its signal, or when the test releases it. */
function longWork() {
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<JsonObject>();
  work = (signal) => {
    signal.addEventListener("abort", () =>
      end.reject(new ToolgateError("UNAVAILABLE", "the work was aborted")),
    );
    started.resolve();
    return end.promise;
  };
  return { started: started.promise, letGo: () => end.resolve({ done: true }) };
}

describe("a caller that disconnects", () => {
  it("finishes, charges and stores a run whose caller disconnects", async () => {
    const { started, letGo } = longWork();
    const answer = call();
    await started;
    gone.abort();
    letGo();
    await expect(answer).resolves.toMatchObject({ result: { done: true } });
    expect(statuses()).toEqual(["completed"]);
    expect(await balance()).toBe(0n);
  });
});

describe("runAndCapture", () => {
  it("aborts the tool and charges nothing when the service stops", async () => {
    const { started, letGo } = longWork();
    const answer = call();
    await started;
    stopping.abort();
    letGo();
    await expect(answer).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(statuses()).toEqual(["failed"]);
    expect(await balance()).toBe(PRICE);
  });

  it("returns no result when the run was released in the meantime", async () => {
    ledger.capture = async () => ({ kind: "lost" });
    await expect(call()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("does not run a tool whose scope the key lacks", async () => {
    context = { ...context, caller: { ...context.caller, scopes: new Set(["compute:read"]) } };
    await expect(call()).rejects.toMatchObject({ code: "FORBIDDEN" });
    expect(await balance()).toBe(PRICE);
  });
});

describe("a metered call", () => {
  const meterReports = (...used: MicroUsd[]) => {
    reports = used;
  };

  it.each([
    ["what was used", [2_500n], 2_500n],
    ["the last report", [9_000n, 700n], 700n],
    ["the quote without a report", [], PRICE],
    ["the quote if all of it was used", [PRICE], PRICE],
    ["the quote and not more", [PRICE + 1n], PRICE],
    ["the quote for an absurd report", [2n ** 80n], PRICE],
    ["one micro-USD if nothing was used", [0n], 1n],
    ["one micro-USD for a negative report", [-(2n ** 80n)], 1n],
  ])("charges %s", async (_what, used, charged) => {
    meterReports(...used);
    const { receipt } = await call();
    expect(receipt).toMatchObject({ quoted: PRICE, debited: charged });
    expect(await balance()).toBe(PRICE - charged);
  });
});

describe("a proof that was answered before", () => {
  it("returns the stored answer after the quote expired and while the chain is unreachable", async () => {
    const payment = proof();
    const first = await call(payment);
    now += 100 * TTL_MS;
    deps = {
      ...deps,
      chain: { verify: () => Promise.reject(new ToolgateError("UNAVAILABLE", "no endpoint")) },
    };
    await expect(call(payment)).resolves.toEqual(first);
    expect(await balance()).toBe(PRICE);
  });
});
