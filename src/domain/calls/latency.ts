/** Upper bounds of the classes that durations of calls are counted in, ms; the last class has none. */
export const LATENCY_BOUNDS_MS = [
  5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
] as const;

/** Durations of calls, ms: estimates, exact to their class. */
export interface Latency {
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** Returns the latency of counts by class; undefined without calls. */
export function latencyOf(counts: readonly bigint[]): Latency | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0n);
  if (total === 0n) return undefined;
  return { p50Ms: percentile(counts, total, 0.5), p95Ms: percentile(counts, total, 0.95) };
}

/** Interpolates within the class; what exceeds all bounds counts as the last one. */
function percentile(counts: readonly bigint[], total: bigint, share: number): number {
  const rank = share * Number(total);
  let below = 0;
  for (const [index, upper] of LATENCY_BOUNDS_MS.entries()) {
    const count = Number(counts[index] ?? 0n);
    if (count > 0 && below + count >= rank) {
      const lower = LATENCY_BOUNDS_MS[index - 1] ?? 0;
      return Math.round(lower + ((upper - lower) * (rank - below)) / count);
    }
    below += count;
  }
  return LATENCY_BOUNDS_MS.at(-1) ?? 0;
}
