import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { JsonObject } from "../../../src/domain/core/json.ts";
import type { Tool } from "../../../src/domain/tools/tool.ts";
import { silentMetrics } from "../../../src/metrics/silent-metrics.ts";
import type { Postgres } from "../../../src/postgres/index.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { cancelTool } from "../../../src/tools/sandbox/cancel.ts";
import { executeTool } from "../../../src/tools/sandbox/execute.ts";
import { newCaller } from "../../app/context.ts";
import { callOf, failed, makeAccount, PRICE } from "../../postgres/fixture.ts";
import { openStarted } from "../../postgres/open-postgres.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { ScriptedEngine } from "./scripted-engine.ts";

const PRICES = { microusd_per_second: 1_000n, minimum_microusd: 500n };

/** Race conditions of executions and cancels, with a scripted engine and the real database. */
let database: TestDatabase;
let postgres: Postgres;
let engine: ScriptedEngine;
let execute: Tool;
let quoted: Tool;
let cancel: Tool;
let accountId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  postgres = await openStarted(database.servingUrl);
  postgres.sandboxRuns.onCancel((runId) => void engine.cancel(runId).catch(() => {}));
});
beforeEach(async () => {
  engine = new ScriptedEngine();
  const deps = {
    engine,
    runs: postgres.sandboxRuns,
    selfTestStatus: () => "passed" as const,
    concurrencyPerAccount: 10,
    metrics: silentMetrics,
  };
  execute = executeTool(deps, PRICES);
  quoted = executeTool(deps, PRICES, "quoted");
  cancel = cancelTool(deps);
  const pool = openPool(database.url, { max: 1, applicationName: "test" });
  accountId = await makeAccount(pool, 10n * PRICE);
  await pool.end();
});
afterAll(async () => {
  await postgres.close();
  await database.drop();
});

const callerOf = (accountId: string) => newCaller({ accountId, scopes: new Set(["compute:run"]) });

/** Starts an execution as the gateway does, under a ledger run that stays open. */
async function begin(params: JsonObject = {}, signal = new AbortController().signal, tool = execute) {
  const call = callOf(accountId, { tool: "sandbox_execute" });
  await postgres.ledger.authorize(call);
  const reports: bigint[] = [];
  const prepared = tool.prepare({ language: "python", code: "1", ...params });
  const context = { caller: callerOf(accountId), runId: call.runId, idempotencyKey: "claim_1", signal };
  const answer = Promise.resolve(prepared.run({ ...context, meter: (used) => void reports.push(used) }));
  answer.catch(() => {});
  return { runId: call.runId, call, answer, reports };
}

const ask = async (runId: string, account = accountId) =>
  cancel.prepare({ run_id: runId }).run({
    caller: callerOf(account),
    runId: undefined,
    idempotencyKey: undefined,
    signal: new AbortController().signal,
  });

const started = (count: number) => expect.poll(() => engine.jobs).toHaveLength(count);

describe("executions", () => {
  it("passes the code to the engine under its run id and returns the result under the caller's name", async () => {
    const { runId, answer } = await begin({
      run_id: "mine",
      stdin: "in",
      timeout_ms: 200,
      language: "javascript",
    });
    await started(1);
    expect(engine.jobs).toEqual([
      { accountId, runId, language: "javascript", code: "1", stdin: "in", timeoutMs: 200 },
    ]);
    const error = { name: "TypeError", value: "no", traceback: "at 1" };
    const result = {
      stdout: "o",
      stderr: "e",
      stdoutTruncated: true,
      durationMs: 7,
      cpuMs: null,
      exitCode: 1,
      error,
    };
    engine.end(runId, { status: "failed", ...result });
    expect(await answer).toEqual({
      ...{
        run_id: "mine",
        status: "failed",
        stdout: "o",
        stderr: "e",
        stdout_truncated: true,
        stderr_truncated: false,
      },
      ...{
        result: null,
        error,
        exit_code: 1,
        duration_ms: 7,
        cpu_ms: null,
        language: "javascript",
        engine: "scripted",
      },
    });
  });

  it("uses the run id as name by default", async () => {
    const { runId, answer } = await begin();
    await started(1);
    engine.end(runId, { result: [1] });
    expect(await answer).toMatchObject({ run_id: runId, status: "succeeded", result: [1] });
  });

  it("fails when the engine loses the execution, and frees its name", async () => {
    const { runId, answer } = await begin({ run_id: "lost" });
    await started(1);
    engine.end(runId, new Error("the engine's secret"));
    await expect(answer).rejects.toThrow("the engine's secret");
    expect(await postgres.sandboxRuns.find(accountId, "lost")).toEqual({ runId, status: "failed" });
  });

  it("stops in the engine when the caller aborts", async () => {
    const stopping = new AbortController();
    const { answer } = await begin({}, stopping.signal);
    await started(1);
    const reason = new ToolgateError("UNAVAILABLE", "stopping");
    stopping.abort(reason);
    await expect(answer).rejects.toBe(reason);
  });
});

describe("charge of an execution", () => {
  it.each([
    ["the time that ran", 1_234, 1_234n],
    ["a part of a millisecond as a whole one", 600.2, 601n],
    ["the minimum", 3, 500n],
  ])("is %s", async (_what, durationMs, used) => {
    const { runId, answer, reports } = await begin();
    await started(1);
    engine.end(runId, { durationMs });
    await answer;
    expect(reports).toEqual([used]);
  });

  it.each(["failed", "timeout", "cancelled", "memory_limit", "cpu_limit", "output_limit"] as const)(
    "is the time that ran when the status is %s",
    async (status) => {
      const { runId, answer, reports } = await begin();
      await started(1);
      engine.end(runId, { status, durationMs: 900, exitCode: null });
      expect(await answer).toMatchObject({ status });
      expect(reports).toEqual([900n]);
    },
  );

  it("is the price if it is charged as quoted, and the quote covers the time limit", async () => {
    const { runId, answer, reports } = await begin({}, undefined, quoted);
    await started(1);
    engine.end(runId, { durationMs: 700 });
    await answer;
    expect(reports).toEqual([]);
    expect(quoted.prepare({ language: "python", code: "1", timeout_ms: 2_500 }).price).toBe(2_500n);
  });
});

describe("cancellation", () => {
  it("cancels by name and by run id, idempotently", async () => {
    const first = await begin({ run_id: "mine" });
    await started(1);
    const result = { cancelled: true, status: "cancelled" };
    expect(await ask("mine")).toEqual({ run_id: "mine", ...result });
    expect(await ask("mine")).toEqual({ run_id: "mine", ...result });
    expect(await ask(first.runId)).toEqual({ run_id: first.runId, ...result });
    expect(await first.answer).toMatchObject({ run_id: "mine", status: "cancelled", exit_code: null });

    const second = await begin();
    await started(2);
    expect(await ask(second.runId)).toEqual({ run_id: second.runId, ...result });
  });

  it("cancels a queued execution without a result", async () => {
    const place = Promise.withResolvers<void>();
    engine.place = place.promise;
    const { runId, answer } = await begin();
    await expect.poll(() => postgres.sandboxRuns.find(accountId, runId)).toBeDefined();
    const asked = ask(runId);
    await expect.poll(() => engine.cancelled).toContain(runId);
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
    expect(await asked).toMatchObject({ cancelled: true, status: "cancelled" });
    expect(await ask(runId)).toMatchObject({ cancelled: true, status: "cancelled" });
    place.resolve();
    expect(engine.jobs).toEqual([]);
  });

  it("cancels an execution the engine does not know yet as soon as it does", async () => {
    const call = callOf(accountId);
    await postgres.ledger.authorize(call);
    const { runId } = call;
    const caller = callerOf(accountId);
    await postgres.sandboxRuns.create({
      runId,
      accountId,
      keyId: caller.keyId,
      name: undefined,
      mostPerAccount: 1,
    });
    expect(await postgres.sandboxRuns.requestCancel(runId)).toBe(true);
    await expect.poll(() => engine.cancelled).toContain(runId);
    const { signal } = new AbortController();
    const answer = execute
      .prepare({ language: "python", code: "1" })
      .run({ caller, runId, idempotencyKey: undefined, signal });
    expect(await answer).toMatchObject({ status: "cancelled" });
  });

  it("wins over a later result of the code", async () => {
    const { runId, answer } = await begin();
    await started(1);
    engine.cancel = async () => false;
    const asked = ask(runId);
    await expect.poll(() => postgres.sandboxRuns.requestCancel(runId)).toBe(true);
    engine.end(runId, { result: "secret", stdout: "said" });
    expect(await asked).toEqual({ run_id: runId, cancelled: true, status: "cancelled" });
    expect(await answer).toMatchObject({
      status: "cancelled",
      result: null,
      stdout: "said",
      exit_code: null,
    });
  });

  it("returns how the execution ended if it ended first", async () => {
    const { runId, answer } = await begin();
    await started(1);
    engine.end(runId, { status: "timeout" });
    await answer;
    expect(await ask(runId)).toEqual({ run_id: runId, cancelled: false, status: "timeout" });
    expect(engine.cancelled).toEqual([]);
  });

  it("answers within seconds even if the execution ends slowly", async () => {
    const { runId, answer } = await begin();
    await started(1);
    engine.cancel = async () => false;
    expect(await ask(runId)).toEqual({ run_id: runId, cancelled: true, status: "running" });
    engine.end(runId, {});
    expect(await answer).toMatchObject({ status: "cancelled" });
    expect(await ask(runId)).toEqual({ run_id: runId, cancelled: true, status: "cancelled" });
  });

  it("works if the engine call fails, since the owning instance polls", async () => {
    const { runId, answer } = await begin();
    await started(1);
    const real = engine.cancel.bind(engine);
    let failures = 0;
    engine.cancel = async (asked) => {
      if (failures++ < 2) throw new Error("not now");
      return real(asked);
    };
    expect(await ask(runId)).toMatchObject({ cancelled: true });
    expect(await answer).toMatchObject({ status: "cancelled" });
  });

  it("changes nothing after the engine lost the execution", async () => {
    const { call, runId, answer } = await begin();
    await started(1);
    engine.end(runId, new Error("lost"));
    await answer.catch(() => {});
    await postgres.ledger.release(failed(call));
    expect(await ask(runId)).toEqual({ run_id: runId, cancelled: false, status: "failed" });
  });

  it("rejects other accounts' and unknown executions with the same message", async () => {
    const { runId } = await begin({ run_id: "mine" });
    await started(1);
    const pool = openPool(database.url, { max: 1, applicationName: "test" });
    const stranger = await makeAccount(pool, 0n);
    await pool.end();
    const words = async (asked: string, account: string) =>
      ask(asked, account).catch((error: unknown) =>
        error instanceof Error && "code" in error ? `${String(error.code)} ${error.message}` : error,
      );
    const refused = await words(runId, stranger);
    expect(refused).toMatch(/^NOT_FOUND params\.run_id: /);
    expect(await words("mine", stranger)).toBe(refused);
    expect(await words("never", accountId)).toBe(refused);
    expect(await words(`run_${"0".repeat(32)}`, accountId)).toBe(refused);
    expect(await words("run_short", accountId)).toBe(refused);
    expect(await ask(runId)).toMatchObject({ cancelled: true });
    expect(new Set(engine.cancelled)).toEqual(new Set([runId]));
  });
});
