import type { Clock } from "../../../domain/core/clock.ts";
import { Lru } from "../../../domain/core/lru.ts";
import type { RelayChain, RecentBlockhash } from "./relay-port.ts";
import { unlessAborted } from "../../../domain/core/unless-aborted.ts";

/** Maximum age of a cached blockhash, ms. It is valid for about a minute. */
const FRESH_MS = 3_000;
/** Maximum age when the network does not return a newer one, ms. */
const OLDEST_MS = 10_000;
/** Time limit of a request, ms: a 402 response is still useful without a blockhash. */
const PATIENCE_MS = 1_000;
/** Pause after a failed request, ms, so that a hanging network delays few responses. */
const PAUSE_MS = 2_000;
/** Capacity of the cache: more than are issued while one is valid. */
const REMEMBERED = 256;

/** Caches recent blockhashes for callers, and when they expire. */
export class RecentBlockhashes {
  readonly #chain: Pick<RelayChain, "latestBlockhash">;
  readonly #clock: Clock;
  readonly #ends = new Lru<string, bigint>(REMEMBERED);
  #latest: { readonly recent: RecentBlockhash; readonly at: number } | undefined;
  #asking: Promise<void> | undefined;
  /** Time of the last failed request, ms. */
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(chain: Pick<RelayChain, "latestBlockhash">, clock: Clock) {
    this.#chain = chain;
    this.#clock = clock;
  }

  /**
   * Returns a blockhash a few seconds old; undefined when the network does not answer. Concurrent calls
   * share one request.
   */
  async get(): Promise<RecentBlockhash | undefined> {
    const known = this.#youngerThan(FRESH_MS);
    if (known) return known;
    if (!this.#isWithin(PAUSE_MS, this.#failedAt)) {
      this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
      await this.#asking;
    }
    return this.#youngerThan(OLDEST_MS);
  }

  /** Returns the last valid block height of a blockhash that was issued here. */
  lastValidBlockHeight(blockhash: string): bigint | undefined {
    return this.#ends.get(blockhash);
  }

  async #ask(): Promise<void> {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    try {
      const recent = await unlessAborted(this.#chain.latestBlockhash(patience), patience);
      this.#latest = { recent, at: this.#clock.now() };
      this.#ends.set(recent.blockhash, recent.lastValidBlockHeight);
    } catch {
      // The response has no blockhash then.
      this.#failedAt = this.#clock.now();
    }
  }

  #youngerThan(ms: number): RecentBlockhash | undefined {
    const latest = this.#latest;
    return latest && this.#isWithin(ms, latest.at) ? latest.recent : undefined;
  }

  /** Blockhashes are stale after the clock was set back. */
  #isWithin(ms: number, at: number): boolean {
    const age = this.#clock.now() - at;
    return age >= 0 && age < ms;
  }
}
