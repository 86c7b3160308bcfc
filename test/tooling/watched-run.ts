import { spawn } from "node:child_process";
import { mkdtemp, open, rm, type FileHandle } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";

import { killAll, ProcessTree, type KnownProcess } from "./process-tree.ts";
import { Progress, type Counts } from "./progress.ts";

/** How long a run of vitest may take, ms. */
export interface RunLimits {
  /**
   * Without an event from a file that runs, or from vitest while none runs: longer than the longest limit of
   * a test.
   */
  readonly quietMs: number;
  /** From the end of the last file to the end of vitest. */
  readonly exitMs: number;
  /** From vitest's end to the end of every process that the tests started. */
  readonly leftoversMs: number;
  readonly totalMs: number;
}

/** A run: the command, its environment, and the receiver of reports about hanging tests. */
export interface WatchedRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limits: RunLimits;
  readonly signal: AbortSignal;
  write(line: string): void;
  /** Default: the terminal. */
  readonly output?: "inherit" | "ignore";
  /** The clock of the limits, ms; called after each poll of the run. */
  readonly now?: () => number;
}

const REPORTER = path.join(import.meta.dirname, "progress-reporter.ts");
const SAMPLE_MS = 1_000;
/** From the polite signal to the kill, ms. */
const GRACE_MS = 5_000;

/**
 * Runs vitest to its end, and ends it when it hangs: what hung or was left behind is named and counts as
 * failed.
 */
export async function watchedRun(run: WatchedRun): Promise<Counts> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-test-"));
  const file = path.join(folder, "progress");
  const handle = await open(file, "a+");
  try {
    return await watch(run, file, handle);
  } finally {
    await handle.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function watch(run: WatchedRun, file: string, handle: FileHandle): Promise<Counts> {
  const { limits, write, now = () => performance.now() } = run;
  const progress = new Progress(now);
  const child = spawn(run.program, [...run.args, "--reporter=default", `--reporter=${REPORTER}`], {
    cwd: run.cwd,
    env: { ...run.env, TEST_PROGRESS: file },
    stdio: run.output ?? "inherit",
    shell: process.platform === "win32",
  });
  const ended: { code?: number } = {};
  child.on("error", (error) => {
    write(`${run.program}: ${error.message}`);
    ended.code = 1;
  });
  child.on("exit", (code) => (ended.code = code ?? 1));
  const tree = new ProcessTree(child.pid === undefined ? [] : [child.pid], `TEST_PROGRESS=${file}`);
  const started = now();
  let read = 0;
  let hung: readonly string[] = [];
  const look = async () => {
    const { size } = await handle.stat();
    const { buffer } = await handle.read(Buffer.alloc(size - read), 0, size - read, read);
    read = size;
    progress.add(buffer.toString());
    tree.sample(
      progress
        .running()
        .map((one) => one.file)
        .join(" and "),
    );
  };
  while (ended.code === undefined && hung.length === 0 && !run.signal.aborted) {
    await setTimeout(SAMPLE_MS);
    await look();
    hung = whatHangs(progress, { now: now(), started }, limits);
  }
  for (const line of hung) write(`HUNG ${line}`);
  if (ended.code === undefined) {
    if (hung.length > 0) describe(tree.alive(), write, "running");
    child.kill("SIGTERM");
    await until(() => ended.code !== undefined, GRACE_MS);
    tree.sample("the end");
    child.kill("SIGKILL");
  }
  await look();
  const wantsNone = () => tree.alive().length === 0;
  if (hung.length === 0 && !run.signal.aborted) await until(wantsNone, limits.leftoversMs);
  const left = tree.alive();
  killAll(left);
  await until(wantsNone, GRACE_MS);
  const isFault = left.length > 0 && hung.length === 0 && !run.signal.aborted;
  if (isFault) describe(left, write, "left behind");
  const counts = progress.counts(ended.code ?? 1);
  return { ...counts, failed: counts.failed + (isFault ? 1 : 0) };
}

/** One line for each file that hangs, or for vitest itself; none while all is well. */
function whatHangs(
  progress: Progress,
  { now, started }: { readonly now: number; readonly started: number },
  limits: RunLimits,
): string[] {
  const running = progress.running();
  const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
  const line = ({ file, tests }: (typeof running)[number], why: string) =>
    [`${file}: ${why}`, ...tests.map((test) => `  in ${test}`)].join("\n");
  if (progress.endedAt !== undefined) {
    if (now - progress.endedAt < limits.exitMs) return [];
    return [`vitest did not end ${seconds(limits.exitMs)} after its last file: what still runs holds it`];
  }
  if (now - started > limits.totalMs) {
    const why = `not at its end when the tests had taken ${seconds(limits.totalMs)}`;
    return running.length > 0 ? running.map((file) => line(file, why)) : [`vitest: ${why}`];
  }
  const quiet = running.filter(({ lastEvent }) => now - lastEvent > limits.quietMs);
  const why = `no progress for ${seconds(limits.quietMs)}`;
  if (running.length === 0 && now - progress.lastEvent > limits.quietMs)
    return [`vitest: ${why}, and no file runs`];
  return quiet.map((file) => line(file, why));
}

function describe(processes: readonly KnownProcess[], write: (line: string) => void, how: string): void {
  for (const { pid, command, during } of processes) {
    write(`  process ${pid} ${how}, first seen during ${during}: ${command}`);
  }
}

async function until(holds: () => boolean, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (!holds() && performance.now() < end) await setTimeout(50);
}
