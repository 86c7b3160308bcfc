import { describe, expect, it } from "vitest";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import { useWorld } from "../../support/use-world.ts";
import { memoOf, xPayment, type Agent, type Answer } from "../../support/world.ts";
import { watch } from "../../contract/mcp-client.ts";
import { callGrpc, grpcClient } from "../../transport/grpc-client.ts";
import {
  accountOf,
  activeRuns,
  beginRunning,
  beginWaiting,
  callTool,
  type Extra,
  PRICE,
  sandboxSettings,
  statusOf,
  untilProven,
  untilRunning,
  WAITS,
} from "./sandbox.ts";

/** Sandbox tools through all transports of a gateway with the real engine. */
const world = useWorld(() => {
  // Two slots for one account, one kept for others, and no spare workers.
  const process = { concurrency: 3, queue: 2, idle_workers: { javascript: 1, python: 0 } };
  return sandboxSettings({ concurrency_per_account: 2, process });
});

const execute = (agent: Agent, params: JsonObject, extra: Extra = {}) =>
  callTool(world.gateway, agent, "sandbox_execute", params, extra);
const cancel = (agent: Agent, runId: string) =>
  callTool(world.gateway, agent, "sandbox_cancel", { run_id: runId });

/** Retries while UNAVAILABLE: Python starts slowly on a busy machine. */
async function patiently(call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    const answer = await call();
    if (answer.status !== 503 || tries === 3) return answer;
  }
}

it("sandbox_execute is UNAVAILABLE with Retry-After during the self-test, then available", async () => {
  const agent = await world.agent({ balance: 5_000n });
  const params = { language: "javascript", code: "export default 1" };
  const call = await execute(agent, params);
  expect({ status: call.status, code: call.body.code }).toEqual({ status: 503, code: "UNAVAILABLE" });
  expect(call.headers.get("retry-after")).toBe("5");
  expect(await statusOf(world.gateway, "sandbox_execute")).toBe("active");
  expect((await world.get(agent, "/runs")).body.items).toEqual([]);
  await untilProven(world.gateway);
  expect(await statusOf(world.gateway, "sandbox_execute")).toBe("active");
  expect((await patiently(() => execute(agent, params))).status).toBe(200);
});

describe("sandbox_execute", () => {
  it("is charged to the balance and returns its result over HTTP", async () => {
    const agent = await world.agent({ balance: 5_000n });
    const code = 'import sys\nprint("said", sys.stdin.read())\n{"six": 6 * 7}';
    const { status, body } = await patiently(() => execute(agent, { language: "python", code, stdin: "in" }));
    expect(status, JSON.stringify(body)).toBe(200);
    const [run] = (await world.get(agent, "/runs")).body.items;
    expect(body.result).toEqual({
      ...{
        run_id: run.run_id,
        status: "succeeded",
        stdout: "said in\n",
        stderr: "",
        result: { six: 42 },
        error: null,
      },
      ...{
        stdout_truncated: false,
        stderr_truncated: false,
        exit_code: 0,
        language: "python",
        engine: "process",
      },
      ...{ duration_ms: expect.any(Number), cpu_ms: expect.any(Number) },
    });
    expect(run).toMatchObject({
      tool: "sandbox_execute",
      status: "completed",
      spent_usdc_microusd: Number(PRICE),
    });
    expect(body.receipt).toMatchObject({ run_id: run.run_id, debited_usdc_microusd: Number(PRICE) });
    expect(await accountOf(world.gateway, agent)).toEqual({ balance: "0.004000", receipts: 1 });
  });

  it("is paid by proof for its time limit, charged the time that ran, and replayed", async () => {
    const agent = await world.agent();
    const params = { language: "javascript", code: "export default Math.random();", timeout_ms: 20_000 };
    const { status, body } = await execute(agent, params);
    expect([status, body.quote.price_usdc_microusd]).toEqual([402, 2_000]);
    const tx = await world.pay(agent, 2_000n, memoOf(body.quote));
    const headers = xPayment(tx, body.quote.quote_id);
    const bought = await execute(agent, params, { headers });
    expect(bought.body).toMatchObject({
      ok: true,
      receipt: { paid_by: "transfer", quoted_usdc_microusd: 2_000 },
    });
    expect((await execute(agent, params, { headers })).body).toEqual(bought.body);
    const { result, receipt } = bought.body;
    const used = Math.max(1_000, Math.ceil(result.duration_ms / 10));
    expect(receipt.debited_usdc_microusd).toBe(Math.min(used, 2_000));
    const rest = ((2_000 - receipt.debited_usdc_microusd) / 1e6).toFixed(6);
    expect(await accountOf(world.gateway, agent)).toEqual({ balance: rest, receipts: 1 });
  });

  it("reports progress over /mcp if requested and paid", async () => {
    const params = { language: "javascript", code: "export default 3;" };
    const { status, events } = await watch(
      world.gateway,
      await world.agent({ balance: 5_000n }),
      "sandbox_execute",
      params,
    );
    expect(status).toBe(200);
    expect(events.slice(0, -1).map((event) => event.params)).toEqual([
      { progressToken: "t", progress: 0, total: 2, message: "the code is queued" },
      { progressToken: "t", progress: 1, total: 2, message: "the code runs" },
    ]);
    expect(events.at(-1).result).toMatchObject({
      structuredContent: { status: "succeeded", result: 3 },
      _meta: { "toolgate/receipt": { tool: "sandbox_execute" } },
    });
    expect(await watch(world.gateway, await world.agent(), "sandbox_execute", params)).toEqual({
      status: 402,
      events: [],
    });
  });

  it("fits its longest output into a JSON message", async () => {
    const agent = await world.agent({ balance: 5_000n });
    const most = "new Uint8Array(1_100_000)";
    const code = `for (const stream of [Deno.stderr, Deno.stdout])
        for (let at = 0; at < 170_000;) at += stream.writeSync(${most}.subarray(at, 170_000));
      export default Array(130_000).fill(0);`;
    const params = { language: "javascript", code };
    const { status, body } = await world.post(agent, "/toolgate.v1.ToolService/CallTool", {
      tool: "sandbox_execute",
      params: { ...params, code: `${code}\nDeno.stdout.writeSync(${most});` },
    });
    expect(status, JSON.stringify(body).slice(0, 200)).toBe(200);
    expect(body.result).toMatchObject({ status: "output_limit", stdout_truncated: true });
    const client = grpcClient(world.gateway.grpcAddress);
    try {
      const metadata = { authorization: `Bearer ${agent.apiKey}` };
      const call = { tool: "sandbox_execute", params };
      const { message } = await callGrpc(client, ToolService.method.callTool, call, { metadata });
      expect(message.result).toMatchObject({ status: "succeeded", stderr: "\0".repeat(170_000) });
    } finally {
      client.close();
    }
  });

  it.each([
    ["fails", 'throw new TypeError("no");', "failed", "failed", 5_000],
    ["takes too long", WAITS.code, "timeout", "timeout", 500],
    ["says too much", 'for (;;) console.log("x".repeat(100_000));', "output_limit", "limit", 5_000],
  ] as const)("returns a charged result for code that %s", async (_, code, status, outcome, timeoutMs) => {
    const agent = await world.agent({ balance: 1_000n });
    const answer = await execute(agent, { language: "javascript", code, timeout_ms: timeoutMs });
    expect(answer.status, JSON.stringify(answer.body).slice(0, 500)).toBe(200);
    expect(answer.body).toMatchObject({
      result: { status },
      receipt: { debited_usdc_microusd: Number(PRICE) },
    });
    expect(await accountOf(world.gateway, agent)).toEqual({ balance: "0.000000", receipts: 1 });
    const { receipts } = world.postgres.accountQueries;
    const query = { accountId: agent.accountId, limit: 2, cursor: undefined, status: undefined };
    expect((await receipts.list({ ...query, filter: { outcome } })).items).toHaveLength(1);
    expect((await receipts.list({ ...query, filter: { outcome: "succeeded" } })).items).toEqual([]);
  });
});

describe("executions of one account", () => {
  it("are limited in number under concurrency; rejected ones cost nothing", async () => {
    const agent = await world.agent({ balance: 100_000n });
    const answers = Promise.all(Array.from({ length: 10 }, () => execute(agent, WAITS)));
    await expect.poll(async () => (await world.get(agent, "/runs?status=failed")).body.items.length).toBe(8);
    const active = await activeRuns(world.gateway, agent);
    expect(active).toHaveLength(2);
    await untilRunning(world.gateway, 2);
    for (const { run_id } of active) expect((await cancel(agent, run_id)).body.result.cancelled).toBe(true);
    const all = await answers;
    const refused = all.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(8);
    for (const { body, headers } of refused) {
      expect(body).toMatchObject({ code: "RATE_LIMITED", retry_after_seconds: 1 });
      expect(body.message).toMatch(
        /^2 executions of this account are running, the maximum is 2; .* nothing was charged/,
      );
      expect(headers.get("retry-after")).toBe("1");
    }
    expect(all.filter(({ status }) => status === 200).map(({ body }) => body.result.status)).toEqual([
      "cancelled",
      "cancelled",
    ]);
    expect(await accountOf(world.gateway, agent)).toEqual({ balance: "0.098000", receipts: 2 });
  });

  it("keep their names while active", async () => {
    const agent = await world.agent({ balance: 100_000n });
    const { answer } = await beginRunning(world.gateway, agent, { run_id: "mine" });
    const again = await execute(agent, { ...WAITS, run_id: "mine" });
    expect(again.body).toMatchObject({
      code: "REQUEST_IN_PROGRESS",
      message: expect.stringMatching(/^params\.run_id: /),
    });
    expect([again.status, again.headers.get("retry-after")]).toEqual([409, "1"]);
    await cancel(agent, "mine");
    await answer;
    expect((await execute(agent, { language: "javascript", code: "", run_id: "mine" })).status).toBe(400);
    const next = await execute(agent, { language: "javascript", code: ";", run_id: "mine" });
    expect(next.body.result).toMatchObject({ run_id: "mine", status: "succeeded" });
    expect(await accountOf(world.gateway, agent)).toEqual({ balance: "0.098000", receipts: 2 });
  });
});

describe("cancelled executions", () => {
  it("return a charged result; the cancel is free, idempotent and takes either name", async () => {
    const agent = await world.agent({ balance: 5_000n });
    const { answer, runId } = await beginRunning(world.gateway, agent, { run_id: "mine" });
    const first = await cancel(agent, runId);
    expect(first.body).toEqual({ ok: true, result: { run_id: runId, cancelled: true, status: "cancelled" } });
    expect((await cancel(agent, "mine")).body.result).toEqual({ ...first.body.result, run_id: "mine" });
    const { status, body } = await answer;
    expect(status).toBe(200);
    expect(body.result).toMatchObject({ run_id: "mine", status: "cancelled", result: null, exit_code: null });
    expect(await accountOf(world.gateway, agent)).toEqual({ balance: "0.004000", receipts: 1 });
  });
});

describe("more executions than slots", () => {
  it("queue, can be cancelled there free of charge, and are rejected free of charge if the queue is full", async () => {
    const [first, other, second, late] = [
      await world.agent({ balance: 5_000n }),
      await world.agent({ balance: 5_000n }),
      await world.agent({ balance: 5_000n }),
      await world.agent({ balance: 5_000n }),
    ];
    const running: [Agent, Awaited<ReturnType<typeof beginRunning>>][] = [];
    for (const agent of [first, first, other])
      running.push([agent, await beginRunning(world.gateway, agent)]);
    const held = { code: "export default 7;", run_id: "held" };
    const queued = [
      await beginWaiting(world.gateway, second, held, "repeated"),
      await beginWaiting(world.gateway, second),
    ];
    const refused = await execute(late, { language: "javascript", code: "1" }, { key: "k" });
    expect([refused.status, refused.body.code]).toEqual([503, "UNAVAILABLE"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await accountOf(world.gateway, late)).toEqual({ balance: "0.005000", receipts: 0 });

    for (const { runId, answer } of queued) {
      expect((await cancel(second, runId)).body.result).toMatchObject({
        cancelled: true,
        status: "cancelled",
      });
      const { status, body } = await answer;
      expect([status, body.code, body.message]).toEqual([
        499,
        "CANCELLED",
        expect.stringMatching(/cancelled before its code began; nothing was charged/),
      ]);
    }
    expect(await activeRuns(world.gateway, second)).toEqual([]);
    expect(
      (await world.get(second, "/runs")).body.items.map(
        ({ status, spent_usdc_microusd: spent }: JsonObject) => [status, spent],
      ),
    ).toEqual([
      ["cancelled", 0],
      ["cancelled", 0],
    ]);
    expect(await accountOf(world.gateway, second)).toEqual({ balance: "0.005000", receipts: 0 });
    expect(await activeRuns(world.gateway, first)).toHaveLength(2);
    for (const [agent, { runId, answer }] of running) {
      await cancel(agent, runId);
      await answer;
    }
    const again = await execute(late, { language: "javascript", code: "1" }, { key: "k" });
    expect(again.body).toMatchObject({ ok: true, result: { status: "succeeded" } });
    expect(await accountOf(world.gateway, late)).toEqual({ balance: "0.004000", receipts: 1 });
    const repeated = await execute(second, { ...WAITS, ...held }, { key: "repeated" });
    expect(repeated.body).toMatchObject({ ok: true, result: { status: "succeeded", result: 7 } });
    expect(await accountOf(world.gateway, second)).toEqual({ balance: "0.004000", receipts: 1 });
  });
});
