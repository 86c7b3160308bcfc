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

/** Judges a soak test. */
export function verdict({
  before,
  during,
  after,
  acts,
  unexpected,
  turnedAway,
  violations,
}: Evidence): Check[] {
  const half = during.slice(Math.floor(during.length / 2));
  return [
    flat("heap", half, ({ heapMb }) => heapMb),
    flat("memory outside the heap", half, ({ externalMb }) => externalMb),
    { name: "descriptors left open", value: after.descriptors - before.descriptors, atMost: KEPT, unit: "" },
    {
      name: "resources left (sockets, timers)",
      value: after.resources - before.resources,
      atMost: KEPT,
      unit: "",
    },
    { name: "answers that were not expected", value: unexpected, atMost: 0, unit: "" },
    {
      name: "callers not admitted, as too many waited",
      value: turnedAway,
      atMost: acts * TURNED_AWAY,
      unit: "",
    },
    { name: "violations in the audit", value: violations, atMost: 0, unit: "" },
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
