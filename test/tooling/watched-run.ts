import path from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

import { killAll, ProcessTree, type KnownProcess } from "./process-tree.ts";

/** How many tests passed, failed and were skipped, and which failed. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One line for each failure: the file and the test's full name, or what failed instead of a test. */
  readonly red: readonly string[];
}

/** How long a run may take, ms. */
export interface RunLimits {
  /** Without an event of a file that runs: longer than the longest limit of a test. */
  readonly quietMs: number;
  /** From the end of the last file to the end of vitest. */
  readonly exitMs: number;
  /** From vitest's end to the end of every process that the tests started. */
  readonly leftoversMs: number;
}

export interface WatchedRun {
  /** Filters and options of vitest's command line. */
  readonly args: readonly string[];
  /** A value in the environment of every process of the run. */
  readonly mark: string;
  readonly limits: RunLimits;
  readonly signal: AbortSignal;
  write(line: string): void;
}

const SAMPLE_MS = 500;

/**
 * Runs vitest in this process, and ends it when it hangs. Names what hung and what was left behind, and
 * counts it as failed.
 */
export async function watchedRun({ args, mark, limits, signal, write }: WatchedRun): Promise<Counts> {
  const { parseCLI, startVitest } = await import("vitest/node");
  const { filter, options } = parseCLI(["vitest", "run", ...args]);
  const watcher = new Watcher();
  const tree = new ProcessTree([process.pid], mark);
  const run = startVitest("test", filter, { ...options, watch: false, reporters: ["default", watcher] })
    .catch((error: unknown) => write(String(error)))
    .then(() => true);
  let ended = false;
  let hung: readonly string[] = [];
  while (!ended && hung.length === 0 && !signal.aborted) {
    ended = await Promise.race([run, setTimeout(SAMPLE_MS, false)]);
    tree.sample(watcher.runningFiles().join(" and "));
    if (!ended) hung = watcher.whatHangs(limits);
  }
  for (const line of hung) write(`HUNG ${line}`);
  if (hung.length > 0) describe(tree.alive(), write, "running");
  const isClean = () => tree.alive().length === 0;
  if (ended) await until(isClean, limits.leftoversMs);
  const left = ended ? tree.alive() : [];
  describe(left, write, "left behind");
  // They may have started others meanwhile.
  const isGone = () => {
    killAll(tree.alive());
    return isClean();
  };
  await until(isGone, 30_000);
  return watcher.counts([
    ...hung,
    ...left.map(({ command, during }) => `${during}: left behind ${command}`),
    ...(ended || hung.length > 0 ? [] : ["interrupted"]),
  ]);
}

interface FileState {
  readonly module: TestModule;
  /** When it last reported something. */
  readonly at: number;
  readonly ended: boolean;
}

/** Follows the files of a run. */
class Watcher implements Reporter {
  readonly #files = new Map<string, FileState>();
  #root = "";
  #errors = 0;
  #endedAt: number | undefined;

  onInit({ config }: Vitest): void {
    this.#root = config.root;
  }

  onTestModuleQueued(module: TestModule): void {
    this.#note(module);
  }

  onTestModuleCollected(module: TestModule): void {
    this.#note(module);
  }

  onTestCaseReady({ module }: TestCase): void {
    this.#note(module);
  }

  onTestCaseResult({ module }: TestCase): void {
    this.#note(module);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#note(module, true);
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly unknown[]): void {
    this.#errors = errors.length;
    this.#endedAt = performance.now();
  }

  runningFiles(): string[] {
    return [...this.#files].flatMap(([name, { ended }]) => (ended ? [] : [name]));
  }

  /** One text for each file that hangs, or for vitest itself; none while all is well. */
  whatHangs({ quietMs, exitMs }: RunLimits): string[] {
    const now = performance.now();
    if (this.#endedAt !== undefined) {
      const late = now - this.#endedAt > exitMs;
      return late ? [`vitest: not at its end ${exitMs / 1_000} s after its last file`] : [];
    }
    return [...this.#files]
      .filter(([, { at, ended }]) => !ended && now - at > quietMs)
      .map(([name, { module }]) => {
        const running = testsOf(module).filter((test) => test.result().state === "pending");
        return [
          `${name}: no progress for ${quietMs / 1_000} s`,
          ...running.map((test) => `  in ${test.fullName}`),
        ].join("\n");
      });
  }

  /**
   * Counts as a failure: a file that failed without a failed test or has not ended, an error outside of
   * every test, a run without a passed test, and each of `faults`.
   */
  counts(faults: readonly string[]): Counts {
    const files = [...this.#files].map(([name, { module, ended }]) => {
      const states = testsOf(module).map((test) => ({ state: test.result().state, name: test.fullName }));
      const red = states.filter(({ state }) => state === "failed").map((test) => `${name} > ${test.name}`);
      const isKnown = red.length > 0 || faults.some((fault) => fault.startsWith(name));
      const isBroken = !ended || !module.ok();
      return { states, red: isBroken && !isKnown ? [name] : red };
    });
    const count = (wanted: string) =>
      files.reduce((sum, { states }) => sum + states.filter(({ state }) => state === wanted).length, 0);
    const red = [...files.flatMap((file) => file.red), ...faults];
    const passed = count("passed");
    if (this.#errors > 0 && red.length === 0) red.push("an error outside of every test");
    if (red.length === 0 && passed === 0) red.push("no test ran");
    return { passed, failed: red.length, skipped: count("skipped"), red };
  }

  #note(module: TestModule, ended = false): void {
    const name = path.relative(this.#root, module.moduleId);
    const isOver = ended || this.#files.get(name)?.ended === true;
    this.#files.set(name, { module, at: performance.now(), ended: isOver });
  }
}

function testsOf(module: TestModule): TestCase[] {
  return [...module.children.allTests()];
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
