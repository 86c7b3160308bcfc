import type { Metrics } from "../../operations/metrics.ts";
import type {
  NewRelayClaim,
  RelayClaims,
  RelayClaim,
  RelayLimits,
  RelayState,
  RelayVerdict,
} from "./relay-claims.ts";

/** Counts new claims and state changes. */
export class CountedRelayClaims implements RelayClaims {
  readonly #book: RelayClaims;
  readonly #metrics: Metrics;

  constructor(book: RelayClaims, metrics: Metrics) {
    this.#book = book;
    this.#metrics = metrics;
    for (const state of ["claimed", "broadcast", "unknown", "confirmed", "failed"] as const)
      this.#count(state, 0);
    for (const limit of ["transactions", "failures", "open", "unproven", "budget", "reserve"] as const)
      metrics.count("toolgate_relay_refused_total", 0, { limit });
  }

  find(messageHash: Buffer): Promise<RelayClaim | undefined> {
    return this.#book.find(messageHash);
  }

  async claim(claim: NewRelayClaim, limits: RelayLimits): Promise<RelayVerdict> {
    const verdict = await this.#book.claim(claim, limits);
    if (verdict.kind === "claimed") this.#count("claimed");
    else if ("of" in verdict) this.#metrics.count("toolgate_relay_refused_total", 1, { limit: verdict.of });
    return verdict;
  }

  async reject(messageHash: Buffer, reason: string): Promise<boolean> {
    const rejected = await this.#book.reject(messageHash, reason);
    if (rejected) this.#count("failed");
    return rejected;
  }

  async move(messageHash: Buffer, state: Exclude<RelayState, "claimed">, reason?: string): Promise<boolean> {
    const moved = await this.#book.move(messageHash, state, reason);
    if (moved) this.#count(state);
    return moved;
  }

  unfinished(idleMs: number, limit: number): Promise<RelayClaim[]> {
    return this.#book.unfinished(idleMs, limit);
  }

  spentToday(): Promise<bigint> {
    return this.#book.spentToday();
  }

  #count(state: RelayState, by = 1): void {
    this.#metrics.count("toolgate_relay_transactions_total", by, { state });
  }
}
