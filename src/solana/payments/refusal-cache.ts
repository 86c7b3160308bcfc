import type { Clock } from "../../domain/core/clock.ts";
import type { Refusal } from "../transactions/refusal.ts";

const CAPACITY = 10_000;
/** Lifetime of a cached refusal, ms: a failed transaction may be dropped with its fork and then succeed. */
const LIFETIME_MS = 30_000;

/** Caches refused transactions by signature: repeating a bad proof costs no RPC request. */
export class RefusalCache {
  readonly #refusals = new Map<string, { refusal: Refusal; until: number }>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(txSignature: string): Refusal | undefined {
    const known = this.#refusals.get(txSignature);
    return known && known.until > this.#clock.now() ? known.refusal : undefined;
  }

  /** Evicts the oldest entry when full. */
  set(txSignature: string, refusal: Refusal): void {
    this.#refusals.delete(txSignature);
    this.#refusals.set(txSignature, { refusal, until: this.#clock.now() + LIFETIME_MS });
    if (this.#refusals.size <= CAPACITY) return;
    const [oldest] = this.#refusals.keys();
    if (oldest !== undefined) this.#refusals.delete(oldest);
  }
}
