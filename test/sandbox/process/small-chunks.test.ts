import { expect, it } from "vitest";
import { usageOf } from "../../../src/sandbox/process/process-table.ts";
import { Run } from "../../../src/sandbox/process/run.ts";
import { Worker } from "../../../src/sandbox/process/worker.ts";
import { jobOf, NEVER, selfTestParts } from "./bench.ts";

const PIECES = 20_000;

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
  const timeOf = (act: () => void) => {
    const start = performance.now();
    for (let times = 0; times < PIECES; times += 1) act();
    return performance.now() - start;
  };
  const looking = timeOf(() => usageOf(worker.leaf));
  const hearing = timeOf(() => worker.process.onStdout(piece));
  expect(run.cancel()).toBe(true);
  expect((await run.done).stdout).toHaveLength(PIECES);
  expect(hearing).toBeLessThan(looking / 2);
});
