import process from "node:process";
import { expect, it } from "vitest";
import { usageOf } from "../../../src/sandbox/process/process-table.ts";
import { Run } from "../../../src/sandbox/process/run.ts";
import { Worker } from "../../../src/sandbox/process/worker.ts";
import { jobOf, NEVER, selfTestParts } from "./bench.ts";

const [ROUNDS, PIECES] = [10, 2_000];

/** The least of several rounds: a busy machine, or a collection of garbage, delays single ones. */
function cpuOf(act: () => void): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.threadCpuUsage();
    for (let times = 0; times < PIECES; times += 1) act();
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  });
  return Math.min(...rounds);
}

it("does not poll the process for every chunk of guest output", async () => {
  const { line, limits } = await selfTestParts("process");
  const worker = await Worker.start({
    language: "javascript",
    line,
    input: [],
    timeoutMs: 120_000,
    signal: NEVER,
  });
  const run = new Run(worker, jobOf("await new Promise((go) => setTimeout(go, 20_000));"), limits, NEVER);
  const piece = Buffer.from("x");
  const looking = cpuOf(() => usageOf(worker.leaf));
  const hearing = cpuOf(() => worker.process.onStdout(piece));
  expect(run.cancel()).toBe(true);
  expect((await run.done).stdout).toHaveLength(ROUNDS * PIECES);
  // Beside a look for every piece it would cost more.
  expect(hearing).toBeLessThan(looking / 2);
});
