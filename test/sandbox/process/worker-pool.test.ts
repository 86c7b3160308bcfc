import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { WorkerPool, type PoolOptions } from "../../../src/sandbox/process/worker-pool.ts";
import { Worker } from "../../../src/sandbox/process/worker.ts";
import { until } from "../../support/until.ts";
import { jobOf, NEVER, selfTestParts } from "./bench.ts";
import { Run } from "../../../src/sandbox/process/run.ts";

let parts: Awaited<ReturnType<typeof selfTestParts>>;
let started = 0;
let pool: WorkerPool | undefined;

beforeAll(async () => {
  parts = await selfTestParts("process");
});
afterEach(async () => await pool?.close());

const start = async (signal: AbortSignal) => {
  started += 1;
  return await Worker.start({
    language: "javascript",
    line: parts.line,
    input: [],
    timeoutMs: 120_000,
    signal,
  });
};

function open(options: Partial<PoolOptions> = {}): WorkerPool {
  started = 0;
  pool = new WorkerPool({
    language: "javascript",
    idle: 1,
    retireMs: 600_000,
    start,
    onFailure: () => {},
    ...options,
  });
  return pool;
}

const runOn = async (worker: Worker) =>
  await new Run(worker, jobOf("export default 1;"), parts.limits, NEVER).done;

describe("worker pool", () => {
  it("starts nothing before the first request", async () => {
    open();
    await turn();
    expect(started).toBe(0);
  });

  it("gives each job its own worker and starts the next in the background", async () => {
    const workers = open();
    const first = await workers.take(NEVER);
    const second = await workers.take(NEVER);
    expect(second.process.pid).not.toBe(first.process.pid);
    expect((await runOn(first)).result).toBe(1);
    expect((await runOn(second)).result).toBe(1);
    await until(() => workers.idle.length === 1);
    expect(started).toBe(3);
  });

  it("replaces an idle worker that has ended", async () => {
    const workers = open();
    workers.warm();
    await until(() => workers.idle.length === 1);
    const [before] = workers.idle;
    before?.end();
    await until(() => started === 2 && workers.idle.length === 1);
    const taken = await workers.take(NEVER);
    expect(taken.process.pid).not.toBe(before?.process.pid);
    taken.end();
  });

  it("ends idle workers after a time and starts one for the next request", async () => {
    const made: Worker[] = [];
    const keep = async (signal: AbortSignal) => {
      const worker = await start(signal);
      made.push(worker);
      return worker;
    };
    const workers = open({ retireMs: 200, start: keep });
    workers.warm();
    await (
      await until(() => made[0])
    ).process.closed;
    await until(() => workers.idle.length === 0);
    expect((await runOn(await workers.take(NEVER))).result).toBe(1);
  });

  it("starts spare workers one after the other, and another at once for a waiting request", async () => {
    const urgency: boolean[] = [];
    const workers = open({
      idle: 2,
      start: async (signal, isUrgent) => {
        urgency.push(isUrgent);
        return await start(signal);
      },
    });
    workers.warm();
    expect(urgency).toEqual([false]);
    const taking = workers.take(NEVER);
    expect(urgency).toEqual([false, true]);
    (await taking).end();
    await until(() => workers.idle.length === 2);
    expect(urgency).toEqual([false, true, false]);
  });

  it("forgets an aborted request", async () => {
    const workers = open({ idle: 0 });
    const gone = new AbortController();
    const taking = workers.take(gone.signal);
    gone.abort();
    await expect(taking).rejects.toThrow("Aborted");
    expect((await runOn(await workers.take(NEVER))).result).toBe(1);
  });

  it("rejects a waiting request if no worker starts, and retries for the next", async () => {
    const said: unknown[] = [];
    let broken = true;
    const workers = open({
      idle: 0,
      start: async (signal) => {
        if (broken) throw new Error("no more processes");
        return await start(signal);
      },
      onFailure: (error) => said.push(error),
    });
    await expect(workers.take(NEVER)).rejects.toThrow("A worker did not start");
    expect(String(said[0])).toContain("no more processes");
    broken = false;
    expect((await runOn(await workers.take(NEVER))).result).toBe(1);
  });

  it("ends all workers when closed, including those being started", async () => {
    const workers = open({ idle: 2 });
    workers.warm();
    await until(() => workers.idle.length >= 1);
    const ends = workers.idle.map((worker) => worker.process.closed);
    const waits = workers.take(AbortSignal.abort());
    await expect(waits).rejects.toThrow("Aborted");
    await workers.close();
    await Promise.all(ends);
    await expect(workers.take(NEVER)).rejects.toThrow("shutting down");
  });
});
