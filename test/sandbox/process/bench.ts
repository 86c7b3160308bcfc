import process from "node:process";
import type { AccountJob, SandboxLanguage } from "../../../src/domain/tools/sandbox.ts";
import { launchLine, type LaunchLine } from "../../../src/sandbox/process/launch-line.ts";
import { DEFAULT_LIMITS } from "../../../src/sandbox/process/limits.ts";
import type { Probe } from "../../../src/sandbox/process/probes.ts";
import { Run, type RunLimits } from "../../../src/sandbox/process/run.ts";
import { selfTest, type SelfTest } from "../../../src/sandbox/process/self-test.ts";
import { setUp, type Isolation, type Setup } from "../../../src/sandbox/process/setup.ts";
import { Worker } from "../../../src/sandbox/process/worker.ts";

export const NEVER = new AbortController().signal;

let lastRun = 0;

/** A job of an account of its own. */
export function jobOf(code: string, rest: Partial<AccountJob> = {}): AccountJob {
  lastRun += 1;
  const ids = { accountId: `acct_${lastRun}`, runId: `run_${lastRun}` };
  return { ...ids, language: "javascript", code, stdin: "", timeoutMs: 20_000, ...rest };
}

/** Dependencies of the self-test, which a test can modify. */
export async function selfTestParts(
  isolation: Isolation,
): Promise<{ setup: Setup; line: LaunchLine; limits: RunLimits }> {
  const setup = await setUp({ isolation, wheelsDir: undefined, startMs: 120_000 });
  const dataMb = setup.baseDataMb + DEFAULT_LIMITS.memoryMb.javascript;
  const line = launchLine("javascript", setup.programs, setup.enclosure, {
    dataKb: dataMb * 1024,
    cpuSeconds: 70,
  });
  return { setup, line, limits: { ...DEFAULT_LIMITS, dataMb: { javascript: dataMb, python: dataMb } } };
}

export async function runSelfTest(
  { setup, limits }: { setup: Setup; limits: RunLimits },
  line: LaunchLine,
  probes: readonly Probe[],
  run?: SelfTest["run"],
): Promise<void> {
  const startWorker = (language: SandboxLanguage) =>
    Worker.start({ language, line, input: [], timeoutMs: 120_000, signal: NEVER });
  await selfTest({
    isRoot: process.getuid?.() === 0,
    enclosure: setup.enclosure,
    limits,
    pyodide: "",
    startWorker,
    run: run ?? ((worker, job, smaller) => new Run(worker, job, { ...limits, ...smaller }, NEVER).done),
    line,
    signal: NEVER,
    probes,
    parentDeathTimeoutMs: 2_000,
  });
}
