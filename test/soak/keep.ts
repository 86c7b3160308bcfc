import { commitOf } from "../bench/commit.ts";
import { machine } from "../bench/machine.ts";
import { changeResults } from "../bench/results.ts";
import { figureOf, type Check } from "./verdict.ts";

/** Result of a soak test. */
export interface SoakResult {
  readonly checks: readonly Check[];
  /** Acts per second at full load, and of the lasting load. */
  readonly fullLoad: number;
  readonly perSecond: number;
  readonly minutes: number;
  /** The slowest 99th percentile of an interval. */
  readonly slowestMs: number;
  /** Share of CPU time stolen by the host; undefined where unknown. */
  readonly stolen: number | undefined;
}

/** Stores the figures in docs/explanation/performance.json. */
export async function keep({
  checks,
  fullLoad,
  perSecond,
  minutes,
  slowestMs,
  stolen,
}: SoakResult): Promise<void> {
  const [lasted, load, full] = [minutes, perSecond, fullLoad].map((figure) => figure.toFixed(0));
  const peer = `${lasted} min at ${load} calls/s of ${full}, p99 at most ${slowestMs.toFixed(0)} ms`;
  const lines = checks.map(({ name, value, atMost, unit }) => ({
    measure: `soak, ${name}`,
    gateway: figureOf(value, unit),
    peer: `at most ${figureOf(atMost, unit)}; ${peer}`,
  }));
  const date = new Date().toISOString().slice(0, 10);
  await changeResults("soak", { date, machine: machine(), commit: commitOf(), stolen, lines });
}
