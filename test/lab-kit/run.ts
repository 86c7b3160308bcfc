import { once } from "node:events";
import process from "node:process";
import { stopOnSignals } from "../tooling/signals.ts";
import type { CommonOptions } from "./options.ts";
import { Dice } from "./random.ts";
import { json, reportText } from "./report.ts";
import { Tally } from "./tally.ts";

/** One run of a lab. */
export class LabRun {
  readonly tally = new Tally();
  readonly dice: Dice;
  /** Aborts at the first SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
  /** Figures of the report. */
  figures: () => Readonly<Record<string, unknown>> = () => ({});
  /** More, of the report as JSON only. */
  details: () => Readonly<Record<string, unknown>> = () => ({});
  /** Start of the load, monotonic ms. */
  began = performance.now();
  readonly #quiet: boolean;
  readonly #closing: (() => Promise<unknown>)[] = [];

  constructor({ seed, quiet }: CommonOptions, signal: AbortSignal) {
    this.dice = new Dice(`seed ${seed}`);
    this.signal = signal;
    this.#quiet = quiet;
    // A run that is interrupted is not judged.
    signal.addEventListener("abort", () => this.tally.close());
  }

  get seconds(): number {
    return (performance.now() - this.began) / 1_000;
  }

  /** Prints a line on standard error. */
  progress(line: string): void {
    if (!this.#quiet) process.stderr.write(`${this.seconds.toFixed(0).padStart(5)} s  ${line}\n`);
  }

  /**
   * Opens a part of the lab. The run closes it at its end, in reverse order.
   * @throws the signal's reason after a signal
   */
  async open<Part>(opening: () => Promise<Part>, close: (part: Part) => unknown): Promise<Part> {
    this.signal.throwIfAborted();
    const opened = opening();
    this.#closing.push(async () => close(await opened));
    return opened;
  }

  /** Closes every part that is open, whatever fails meanwhile. */
  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await Promise.allSettled([close()]);
  }
}

/**
 * Runs a lab until its end or a signal, prints the report and ends the process. Exit code: 0 without a broken
 * promise, 1 with one, 128 and the number of the signal.
 */
export async function runLab(options: CommonOptions, play: (run: LabRun) => Promise<void>): Promise<never> {
  const stop = stopOnSignals();
  const { signal } = stop;
  const run = new LabRun(options, signal);
  try {
    await Promise.race([play(run), once(signal, "abort")]);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await run.close();
  }
  const { counts, answers, violations } = run.tally;
  const figures = {
    seed: options.seed,
    seconds: Math.round(run.seconds),
    stopped: signal.aborted,
    ...run.figures(),
  };
  const report = { ...figures, counts, answers: Object.fromEntries(answers) };
  process.stdout.write(
    `${options.json ? json({ ...report, ...run.details(), violations }) : reportText(report, violations)}\n`,
  );
  process.exit(stop.exitCode() ?? (violations.length === 0 ? 0 : 1));
}
