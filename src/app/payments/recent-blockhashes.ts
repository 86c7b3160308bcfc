import type { Clock } from "../../domain/core/clock.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { RecentBlockhash, RelayChain } from "./relay-chain.ts";
import { unlessAborted } from "../../domain/core/unless-aborted.ts";

/** How old a blockhash is handed out, ms. It lives for about a minute. */
const FRESH_MS = 3_000;
/** How old when the network does not tell a newer one, ms. */
const OLDEST_MS = 10_000;
/** Longest wait for the network, ms: a 402 answer is worth more with a blockhash, and is an answer without. */
const PATIENCE_MS = 1_000;
/** How long the network is not asked after it did not tell, ms: one that hangs holds up an answer now and then, and not each. */
const PAUSE_MS = 2_000;
/** Blockhashes whose end is remembered: more than are handed out while one is valid. */
const REMEMBERED = 256;

/** The blockhashes that callers are given to build on, and when those end. */
export class RecentBlockhashes {
  readonly #chain: Pick<RelayChain, "latestBlockhash">;
  readonly #clock: Clock;
  readonly #ends = new Lru<string, bigint>(REMEMBERED);
  #latest: { readonly recent: RecentBlockhash; readonly at: number } | undefined;
  #asking: Promise<void> | undefined;
  /** When the network last did not tell, ms. */
  #failedAt = Number.NEGATIVE_INFINITY;

  constructor(chain: Pick<RelayChain, "latestBlockhash">, clock: Clock) {
    this.#chain = chain;
    this.#clock = clock;
  }

  /** One that is a few seconds old at most; undefined when the network does not tell. However many ask, the network is asked once. */
  async get(): Promise<RecentBlockhash | undefined> {
    const known = this.#youngerThan(FRESH_MS);
    if (known) return known;
    if (!this.#isWithin(PAUSE_MS, this.#failedAt)) {
      this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
      await this.#asking;
    }
    return this.#youngerThan(OLDEST_MS);
  }

  /** The last block height of a blockhash that was handed out here. */
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
      // Whoever asked goes without.
      this.#failedAt = this.#clock.now();
    }
  }

  #youngerThan(ms: number): RecentBlockhash | undefined {
    const latest = this.#latest;
    return latest && this.#isWithin(ms, latest.at) ? latest.recent : undefined;
  }

  /** A clock that was set back tells nothing of what was before. */
  #isWithin(ms: number, at: number): boolean {
    const age = this.#clock.now() - at;
    return age >= 0 && age < ms;
  }
}
