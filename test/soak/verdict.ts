import type { Sample } from "./samples.ts";

/** Allowed heap growth per hour, as a share. */
const GROWTH_PER_HOUR = 0.05;
/** Error of a fitted line for a constant heap, MB. */
const NOISE_MB = 1.5;
/** The same for a run too short to fill every cache, MB. */
const FILLING_MB = 4;
/** Runs below this length are that short, s. */
const FILLING_S = 900;
/** Allowed additional descriptors after the load: pooled database connections. */
const KEPT = 12;
/** Allowed share of refused callers. */
const TURNED_AWAY = 0.01;

/** One criterion. */
export interface Check {
  readonly name: string;
  /** The measured and the allowed value. */
  readonly value: number;
  readonly atMost: number;
  readonly unit: string;
}

/** Measurements for the verdict. */
export interface Evidence {
  /** After the warm-up, without load. */
  readonly before: Sample;
  /** Under load. */
  readonly during: readonly Sample[];
  /** After the load. */
  readonly after: Sample;
  /** Acts, and those with an unexpected result. */
  readonly acts: number;
  readonly unexpected: number;
  readonly turnedAway: number;
  /** Violated ledger invariants. */
  readonly violations: number;
}

/** Whether the criterion holds; NaN fails. */
export function holds({ value, atMost }: Check): boolean {
  return value <= atMost;
}

export function figureOf(value: number, unit: string): string {
  return unit === "" ? value.toFixed(0) : `${value.toFixed(2)} ${unit}`;
}

/** Judges a soak test. */
export function verdict({ before, during, after, ...evidence }: Evidence): Check[] {
  const half = during.slice(Math.floor(during.length / 2));
  const count = (name: string, value: number, atMost: number): Check => ({ name, value, atMost, unit: "" });
  return [
    flat("heap", half, ({ heapMb }) => heapMb),
    flat("memory outside the heap", half, ({ externalMb }) => externalMb),
    count("descriptors left open", after.descriptors - before.descriptors, KEPT),
    count("resources left (sockets, timers)", after.resources - before.resources, KEPT),
    count("answers that were not expected", evidence.unexpected, 0),
    count("callers not admitted, as too many waited", evidence.turnedAway, evidence.acts * TURNED_AWAY),
    count("violations in the audit", evidence.violations, 0),
  ];
}

/** A least-squares line through the samples must not rise. */
function flat(what: string, samples: readonly Sample[], held: (sample: Sample) => number): Check {
  const mean = meanOf(samples, held);
  const middle = meanOf(samples, ({ seconds }) => seconds);
  const covariance = meanOf(samples, (sample) => (sample.seconds - middle) * (held(sample) - mean));
  const spread = meanOf(samples, ({ seconds }) => (seconds - middle) ** 2);
  const [first, last] = [samples[0]?.seconds ?? 0, samples.at(-1)?.seconds ?? 0];
  const noise = last < FILLING_S ? FILLING_MB : NOISE_MB;
  return {
    name: `${what}: growth over the second half`,
    value: (covariance / spread) * (last - first),
    atMost: Math.max((mean * GROWTH_PER_HOUR * (last - first)) / 3_600, noise),
    unit: "MB",
  };
}

function meanOf(samples: readonly Sample[], figure: (sample: Sample) => number): number {
  return samples.reduce((sum, sample) => sum + figure(sample), 0) / samples.length;
}
