import type { Refusal } from "./refusal.ts";

const CAPACITY = 10_000;

/** Remembers refused transactions by signature, the least recently asked for forgotten first: a bad proof that is repeated costs no RPC call. */
export class RefusalCache {
  readonly #refusals = new Map<string, Refusal>();

  get(txSignature: string): Refusal | undefined {
    const refusal = this.#refusals.get(txSignature);
    if (refusal) this.set(txSignature, refusal);
    return refusal;
  }

  set(txSignature: string, refusal: Refusal): void {
    this.#refusals.delete(txSignature);
    this.#refusals.set(txSignature, refusal);
    if (this.#refusals.size <= CAPACITY) return;
    const [oldest] = this.#refusals.keys();
    if (oldest !== undefined) this.#refusals.delete(oldest);
  }
}
