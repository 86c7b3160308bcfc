import type { Sample } from "./samples.ts";

/** The heap may grow by this part in an hour. */
const GROWTH_PER_HOUR = 0.05;
/** What a fitted line may be off by, MB: of a heap that stands still. */
const NOISE_MB = 1.5;
/** In a run too short for every cache to be full, MB. */
const FILLING_MB = 4;
/** Runs shorter than this are too short for that, s. */
const FILLING_S = 900;
/** What may be open after the load that was not before: connections to the database, which are kept for a while. */
const KEPT = 12;

/** Callers who are not let in, of all. */
const TURNED_AWAY = 0.01;

/** One thing that must hold. */
export interface Check {
  readonly name: string;
  /** What was measured, and what may be. */
  readonly value: number;
  readonly atMost: number;
  readonly unit: string;
}

/** What the verdict is made of. */
export interface Evidence {
  /** After the warm-up, without load. */
  readonly before: Sample;
  /** Under load. */
  readonly during: readonly Sample[];
  /** Once the load has ended. */
  readonly after: Sample;
  /** Acts, and those of them that were answered as was not expected. */
  readonly acts: number;
  readonly unexpected: number;
  readonly turnedAway: number;
  /** Invariants of the ledger that are violated. */
  readonly violations: number;
}

/** Whether it holds; a figure that is none does not. */
export function holds({ value, atMost }: Check): boolean {
  return value <= atMost;
}

/** Judges a soak. */
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
      name: "callers not let in, as too many waited",
      value: turnedAway,
      atMost: acts * TURNED_AWAY,
      unit: "",
    },
    { name: "violations in the audit", value: violations, atMost: 0, unit: "" },
  ];
}

/** A line is fitted (least squares) to what was held: it may not rise. */
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
