import type { Clock } from "../domain/core/clock.ts";
import type { Refusal } from "./refusal.ts";

const CAPACITY = 10_000;
/** How long a refusal is believed, ms: a failed transaction may yet be forked away, and land well the second time. */
const LIFETIME_MS = 30_000;

/** Remembers refused transactions by signature for a while: a bad proof that is repeated costs no RPC call. */
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

  /** The oldest is forgotten when there is no more room. */
  set(txSignature: string, refusal: Refusal): void {
    this.#refusals.delete(txSignature);
    this.#refusals.set(txSignature, { refusal, until: this.#clock.now() + LIFETIME_MS });
    if (this.#refusals.size <= CAPACITY) return;
    const [oldest] = this.#refusals.keys();
    if (oldest !== undefined) this.#refusals.delete(oldest);
  }
}
