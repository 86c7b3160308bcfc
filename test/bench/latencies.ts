/** Buckets per doubling: percentiles are at most 1/32 too high. */
const PARTS = 32;
/** Doublings above a microsecond: up to 70 minutes. */
const DOUBLINGS = 32;

/** Latency histogram with logarithmic buckets. */
export class Latencies {
  readonly #counts = new Uint32Array(PARTS * DOUBLINGS);
  #total = 0;

  /** @param ms from the request's first byte to the answer's last one */
  count(ms: number): void {
    const micros = Math.max(1, ms * 1000);
    const doubling = Math.min(DOUBLINGS - 1, Math.floor(Math.log2(micros)));
    const part = Math.min(PARTS - 1, Math.floor((micros / 2 ** doubling - 1) * PARTS));
    const bucket = doubling * PARTS + part;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total++;
  }

  /**
   * The time in ms that this share of the answers took at most; undefined where there is none. @param share
   * of 1
   */
  percentile(share: number): number | undefined {
    let left = Math.ceil(this.#total * share);
    if (left === 0) return undefined;
    for (const [bucket, count] of this.#counts.entries()) {
      left -= count;
      if (left <= 0) return upperMillis(bucket);
    }
    return undefined;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#total = 0;
  }
}

function upperMillis(bucket: number): number {
  const part = (bucket % PARTS) + 1;
  return (2 ** Math.floor(bucket / PARTS) * (1 + part / PARTS)) / 1000;
}
