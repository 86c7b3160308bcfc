import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { SandboxLanguage, SandboxStatus } from "../../src/domain/tools/sandbox.ts";
import { findPrograms } from "../../src/sandbox/process/programs.ts";
import { ProcessEngine } from "../../src/sandbox/process/process-engine.ts";
import { job } from "../sandbox/contract-code.ts";
import { outcomeOf } from "../sandbox/engine-contract.ts";
import { leftoversOf } from "../sandbox/leftovers.ts";
import { silent } from "../sandbox/silent-log.ts";
import type { Bench } from "./bench.ts";
import { median } from "./measure.ts";
import type { Line } from "./report.ts";

const CODE = {
  javascript: "export default Array.from({ length: 1000 }, (_, n) => n ** 2).reduce((a, b) => a + b);\n",
  python: "sum(n ** 2 for n in range(1000))\n",
};
const RESULT = 332_833_500;
/** Runs of each kind for one round. A short run has one. */
const RUNS_A_ROUND = 4;
/** Executions from which on a run is a long one. */
const MANY = 100;
/** Deadline of endless code, ms, and the allowed delay of its report. */
const DEADLINE_MS = 300;
const LATE_MS = 100;
/** How much more memory the gateway may hold after all runs, MiB. */
const GROWTH_MB = 32;

/** Measures the overhead of an execution, the accuracy of its deadline and leaked memory. */
export async function sandbox({ plan, scale, signal }: Bench): Promise<Line[]> {
  const idle = { javascript: 2, python: 0 };
  const engine = ProcessEngine.open({ log: silent, idle, limits: { outputBytes: 65_536 } });
  try {
    await msOf(engine, "javascript");
    const isLong = scale.executions >= MANY;
    const runs = plan.rounds * (isLong ? RUNS_A_ROUND : 1);
    const javascript = await againstDeno(engine, runs, signal);
    const kill = await killing(engine, runs, signal);
    const left = await leavings(engine, idle.javascript, scale.executions);
    // Python's interpreter takes seconds to start, longer than a short run.
    const python = isLong ? [await pythonWarm(plan.rounds, signal)] : [];
    return [javascript, ...python, kill, ...left];
  } finally {
    await engine.close();
  }
}

async function againstDeno(engine: ProcessEngine, runs: number, signal: AbortSignal): Promise<Line> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-bench-"));
  const file = path.join(folder, "main.ts");
  await writeFile(file, CODE.javascript);
  const { deno } = findPrograms();
  const [warm, bare]: [number[], number[]] = [[], []];
  try {
    for (let run = 0; run < runs; run++) {
      // The pool fills up in the meantime, as it does between two calls.
      await sleep(300, undefined, { signal });
      warm.push(await msOf(engine, "javascript"));
      await sleep(300, undefined, { signal });
      const began = performance.now();
      const [code] = await once(spawn(deno, ["run", "--quiet", file], { stdio: "ignore" }), "close");
      if (code !== 0) throw new Error(`deno run ended with ${code}`);
      bare.push(performance.now() - began);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return against("sandbox: JavaScript, warm", median(warm), "bare deno run", median(bare), 3);
}

async function pythonWarm(rounds: number, signal: AbortSignal): Promise<Line> {
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
  return against("sandbox: Python, warm", median(warm), "from a cold start", median(cold), 0.15);
}

async function killing(engine: ProcessEngine, runs: number, signal: AbortSignal): Promise<Line> {
  const late: number[] = [];
  for (let run = 0; run < runs; run++) {
    await sleep(200, undefined, { signal });
    late.push((await msOf(engine, "javascript", "for (;;);", "timeout")) - DEADLINE_MS);
  }
  return against("sandbox: end after the deadline", median(late), "allowance", LATE_MS, 1);
}

async function leavings(engine: ProcessEngine, idle: number, runs: number): Promise<Line[]> {
  const { residentMb, ...left } = await leftoversOf(engine, idle, runs);
  const pieces = Object.entries(left);
  return [
    {
      measure: `sandbox: left behind by ${runs} runs`,
      gateway: pieces.map(([name, count]) => `${count} ${name}`).join(", "),
      peer: "none",
      value: Math.max(...pieces.map(([, count]) => count)),
      bar: { atMost: 0 },
    },
    {
      measure: `sandbox: memory kept after ${runs} runs`,
      gateway: `${residentMb.toFixed(0)} MB`,
      peer: `${GROWTH_MB} MB`,
      value: residentMb / GROWTH_MB,
      bar: { atMost: 1 },
    },
  ];
}

/**
 * How long an execution takes from the call to its outcome, ms. @throws Error when it does not end as it must
 */
async function msOf(
  engine: ProcessEngine,
  language: SandboxLanguage,
  code: string = CODE[language],
  status: SandboxStatus = "succeeded",
): Promise<number> {
  const began = performance.now();
  const outcome = await outcomeOf(
    engine,
    job(code, language, status === "timeout" ? { timeoutMs: DEADLINE_MS } : {}),
  );
  const took = performance.now() - began;
  const isRight = outcome.status === status && (status === "timeout" || outcome.result === RESULT);
  if (!isRight) throw new Error(`an execution ended ${JSON.stringify(outcome).slice(0, 500)}`);
  return took;
}

function against(measure: string, ms = Number.NaN, peer: string, peerMs = Number.NaN, atMost: number): Line {
  const text = (value: number) => (value < 10 ? value.toFixed(1) : value.toFixed(0));
  return {
    measure,
    gateway: `${text(ms)} ms`,
    peer: `${peer} ${text(peerMs)} ms`,
    value: ms / peerMs,
    bar: { atMost },
  };
}
