import os from "node:os";
import { expect, it, vi } from "vitest";
import { lowFirst, raisePriority } from "../../../src/sandbox/process/priority.ts";
import { ProcessEngine } from "../../../src/sandbox/process/process-engine.ts";
import { read } from "../../../src/sandbox/process/process-table.ts";
import { Worker } from "../../../src/sandbox/process/worker.ts";
import { outcomeOf } from "../engine-contract.ts";
import { isolations } from "../isolations.ts";
import { descendants } from "../process-watch.ts";
import { silent } from "../silent-log.ts";
import { jobOf, NEVER, selfTestParts } from "./bench.ts";

const { isolation } = isolations()[0]!;

it("starts a worker at low priority and raises it when it is ready", async () => {
  const { line, setup } = await selfTestParts(isolation);
  const worker = await Worker.start({
    ...{ language: "javascript" as const, line, input: [], timeoutMs: 120_000 },
    ...{ isLow: true, signal: NEVER },
  });
  try {
    expect(os.getPriority(worker.leaf)).toBeGreaterThan(os.getPriority());
    expect(await raisePriority(worker.process.pid ?? 0, worker.leaf)).toBe(setup.canRaise);
    if (setup.canRaise) expect(os.getPriority(worker.leaf)).toBe(os.getPriority());
  } finally {
    worker.end();
  }
});

it("keeps idle workers at the priority of the gateway, since the next one runs a paid call", async () => {
  const engine = ProcessEngine.open({ log: silent, isolation, idle: { javascript: 1, python: 0 } });
  try {
    await outcomeOf(engine, jobOf("export default 1;"));
    const priorities = () => {
      const idle = descendants(process.pid).filter((pid) => read(`/proc/${pid}/comm`) === "deno\n");
      return idle.map((pid) => os.getPriority(pid));
    };
    await expect.poll(priorities).toEqual([os.getPriority()]);
  } finally {
    await engine.close();
  }
});

it("works at full priority if low priority takes too long", async () => {
  const work = vi.fn(async (signal: AbortSignal, isLow: boolean) => {
    if (!isLow) return "done";
    return await new Promise<string>((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
  });
  expect(await lowFirst(NEVER, work, 1)).toBe("done");
  expect(work.mock.calls.map(([, isLow]) => isLow)).toEqual([true, false]);
});

it("does not repeat what failed, or what the caller aborted", async () => {
  const caller = new AbortController();
  const fails = vi.fn(() => Promise.reject(new Error("no")));
  await expect(lowFirst(NEVER, fails, 60_000)).rejects.toThrow("no");
  caller.abort();
  await expect(lowFirst(caller.signal, fails, 1)).rejects.toThrow("no");
  expect(fails).toHaveBeenCalledTimes(2);
});
