import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxLanguage } from "../../../src/domain/tools/sandbox.ts";
import { findPrograms } from "../../../src/sandbox/process/programs.ts";
import { ProcessEngine } from "../../../src/sandbox/process/process-engine.ts";
import { job } from "../../sandbox/contract-code.ts";
import { outcomeOf } from "../../sandbox/engine-contract.ts";
import { silent } from "../../sandbox/silent-log.ts";
import type { Part } from "../bench.ts";
import { median } from "../measure.ts";
import { plainLine, type Line } from "../report.ts";

const CODE = {
  javascript: "export default Array.from({ length: 1000 }, (_, n) => n ** 2).reduce((a, b) => a + b);\n",
  python: "sum(n ** 2 for n in range(1000))\n",
};
const RESULT = 332_833_500;
const RUNS = 4;
/** The time in which the pool fills up, as between two calls, ms. */
const PAUSE_MS = 300;

/** A run with a process that waits for it. */
export const sandbox: Part = {
  name: "sandbox",
  title: "13. sandbox, warm run",
  why: "Agents that run code: what isolation adds",
  async run({ plan: { rounds, quick }, signal }) {
    const lines = [await javascript(quick ? 1 : rounds * RUNS, signal)];
    // Python's interpreter takes seconds to start, longer than a short run.
    return quick ? lines : [...lines, await python(rounds, signal)];
  },
};

async function javascript(runs: number, signal: AbortSignal): Promise<Line> {
  const engine = ProcessEngine.open({ log: silent, idle: { javascript: 2, python: 0 } });
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-bench-"));
  const file = path.join(folder, "main.ts");
  await writeFile(file, CODE.javascript);
  const [warm, bare]: [number[], number[]] = [[], []];
  try {
    await msOf(engine, "javascript");
    for (let run = 0; run < runs; run++) {
      await sleep(PAUSE_MS, undefined, { signal });
      warm.push(await msOf(engine, "javascript"));
      await sleep(PAUSE_MS, undefined, { signal });
      const began = performance.now();
      const deno = spawn(findPrograms().deno, ["run", "--quiet", file], { stdio: "ignore" });
      const [code] = await once(deno, "close");
      if (code !== 0) throw new Error(`deno run ended with ${code}`);
      bare.push(performance.now() - began);
    }
  } finally {
    await engine.close();
    await rm(folder, { recursive: true, force: true });
  }
  return lineOf("JavaScript", warm, "bare deno run", bare);
}

async function python(rounds: number, signal: AbortSignal): Promise<Line> {
  const [warm, cold]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const engine = ProcessEngine.open({ log: silent, idle: { javascript: 0, python: 1 }, waitMs: 120_000 });
    try {
      await engine.capabilities();
      const first = await msOf(engine, "python");
      cold.push(first);
      await sleep(2 * first + 1_000, undefined, { signal });
      warm.push(await msOf(engine, "python"));
    } finally {
      await engine.close();
    }
  }
  return lineOf("Python", warm, "cold start", cold);
}

function lineOf(measure: string, warm: readonly number[], peer: string, others: readonly number[]): Line {
  return plainLine(measure, median(warm) ?? Number.NaN, peer, median(others) ?? Number.NaN, "ms");
}

/** Time from the call to its outcome, ms. @throws Error for a wrong outcome */
async function msOf(engine: ProcessEngine, language: SandboxLanguage): Promise<number> {
  const began = performance.now();
  const outcome = await outcomeOf(engine, job(CODE[language], language));
  const took = performance.now() - began;
  if (outcome.status === "succeeded" && outcome.result === RESULT) return took;
  throw new Error(`an execution ended ${JSON.stringify(outcome).slice(0, 500)}`);
}
