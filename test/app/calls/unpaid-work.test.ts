import { beforeEach, describe, expect, it } from "vitest";
import { callTool } from "../../../src/app/calls/call-tool.ts";
import type { CallPorts } from "../../../src/gateway/call-tool-deps.ts";
import { Catalogue } from "../../../src/app/calls/catalogue.ts";
import type { CallContext } from "../../../src/domain/calls/call-context.ts";
import { UnpaidWork } from "../../../src/app/calls/unpaid-work.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { Tool } from "../../../src/domain/tools/tool.ts";
import { withPayments } from "../payments/payment-ports.ts";
import { MemoryLedger } from "../../transport/memory-ledger.ts";
import { TestTools } from "../../transport/test-tools.ts";
import { newContext, callPorts, toolCall } from "../context.ts";
import { silentMetrics } from "../../../src/metrics/silent-metrics.ts";

/** Writes to the store and the metrics. */
let added: [tool: string, charged: number][];
let counted: string[];
let blockedMs: number;
let ledger: MemoryLedger;
let context: CallContext;
let deps: CallPorts;
/** Error that the tools throw; undefined: they succeed. */
let failure: ToolgateError | undefined;
let ran: number;

const WORKED = new ToolgateError("TOOL_FAILED", "the answer could not be read; nothing was charged", {
  worked: true,
});

beforeEach(() => {
  [added, counted, blockedMs, failure, ran] = [[], [], 0, undefined, 0];
  const store = {
    blockedMs: () => blockedMs,
    add: async (_: string, tool: string, charged: number) => void added.push([tool, charged]),
  };
  const metrics = { ...silentMetrics, count: (name: string) => void counted.push(name) };
  ledger = new MemoryLedger();
  context = newContext();
  ledger.balances.set(context.caller.accountId, 1_000n);
  const run = async () => {
    ran += 1;
    if (failure) throw failure;
    return { done: true };
  };
  const [free] = new TestTools().list();
  const tool = (name: string, billable: boolean): Tool => ({
    ...free!,
    name,
    billable,
    scope: undefined,
    prepare: () => ({ price: billable ? 10n : 0n, run }),
  });
  const catalogue = new Catalogue([tool("paid", true), tool("free", false)]);
  deps = callPorts({ ledger, catalogue, unpaidWork: new UnpaidWork(store, metrics) });
});

const call = (tool: string, idempotencyKey?: string) =>
  callTool(withPayments(deps), toolCall(tool, { idempotencyKey }), context);
const balance = () => ledger.balance(context.caller.accountId);

describe("a call that fails after a server has worked for it", () => {
  it("counts a failed call as unpaid work since the last charge, and does not charge it", async () => {
    for (let turn = 0; turn < 3; turn++) await call("paid");
    failure = WORKED;
    await expect(call("paid")).rejects.toThrow("could not be read");
    await expect(call("paid")).rejects.toThrow("could not be read");
    expect(added).toEqual([
      ["paid", 3],
      ["paid", 0],
    ]);
    expect(counted).toEqual(["toolgate_unpaid_work_total", "toolgate_unpaid_work_total"]);
    expect(await balance()).toBe(970n);
  });

  it("counts no unpaid work when no server worked or the tool is free", async () => {
    failure = new ToolgateError("TOOL_FAILED", "cannot be reached");
    await expect(call("paid")).rejects.toThrow();
    failure = WORKED;
    await expect(call("free", "k")).rejects.toThrow();
    await expect(call("free")).rejects.toThrow();
    expect(added).toEqual([]);
  });

  it("counts unpaid work even if the end of the run could not be stored", async () => {
    failure = WORKED;
    ledger.release = () => Promise.reject(new Error("the database is away"));
    await expect(call("paid")).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(added).toEqual([["paid", 0]]);
  });
});

describe("an account with too much unpaid work", () => {
  it("refuses the call with a retry delay before anything is claimed, run or quoted", async () => {
    blockedMs = 179_001;
    const refused = call("paid");
    await expect(refused).rejects.toMatchObject({
      code: "RATE_LIMITED",
      status: 429,
      retryAfterSeconds: 180,
    });
    await expect(refused).rejects.toThrow(
      /paid: more than 20 calls .* were not charged; send the next one in 180 s/,
    );
    // Without a balance there is no quote either.
    ledger.balances.clear();
    await expect(call("paid")).rejects.toMatchObject({ code: "RATE_LIMITED" });
    await expect(call("paid", "k")).rejects.toMatchObject({ code: "RATE_LIMITED" });
    expect([ledger.entries, ran]).toEqual([[], 0]);
    expect(counted).toEqual(Array.from({ length: 3 }, () => "toolgate_unpaid_work_refused_total"));
  });

  it("still returns stored results and releases holds of the account", async () => {
    const first = await call("paid", "known");
    blockedMs = 1;
    expect(await call("paid", "known")).toEqual(first);
    await expect(call("paid", "new")).rejects.toMatchObject({ code: "RATE_LIMITED" });
    expect([await balance(), ran]).toEqual([990n, 1]);
    expect(ledger.entries[0]?.run).toMatchObject({ status: "failed", error: { code: "RATE_LIMITED" } });
    expect(added).toEqual([]);
  });

  it("still runs free tools", async () => {
    blockedMs = 1;
    expect(await call("free")).toMatchObject({ result: { done: true } });
  });
});
