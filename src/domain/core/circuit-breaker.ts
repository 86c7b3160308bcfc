import type { Clock } from "./clock.ts";

const FAILURES_TO_OPEN = 3;
const FIRST_COOLDOWN_MS = 1_000;
const LONGEST_COOLDOWN_MS = 30_000;
/** Interval between early calls during a pause, ms. */
const EARLY_MS = 1_000;
/** Time after which a trial without an outcome no longer blocks other calls, ms. */
const TRIAL_MS = 5_000;

/**
 * A circuit breaker: opens for one second after three consecutive failures (configurable), then twice as
 * long after each failed trial, up to 30 s. While half open it allows one trial at a time.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #failuresToOpen: number;
  #failures = 0;
  #openUntil = 0;
  #trialUntil = 0;
  /** Whether the endpoint requested the remaining wait. */
  #paused = false;
  #earlyAt = Number.NEGATIVE_INFINITY;
  #early = false;

  /** @param failuresToOpen default 3 */
  constructor(
    clock: Clock,
    { failuresToOpen = FAILURES_TO_OPEN }: { readonly failuresToOpen?: number } = {},
  ) {
    this.#clock = clock;
    this.#failuresToOpen = failuresToOpen;
  }

  /** Time until a call is allowed, ms; 0: now. */
  get waitMs(): number {
    return Math.max(0, this.#openUntil - this.#clock.now());
  }

  /** Returns whether a call is allowed. The caller must then report succeeded, failed or abandoned. */
  allow(): boolean {
    if (this.waitMs > 0) return false;
    if (this.#failures < this.#failuresToOpen) return true;
    if (this.#trialUntil > this.#clock.now()) return false;
    this.#trialUntil = this.#clock.now() + TRIAL_MS;
    return true;
  }

  /** Whether the remaining wait was requested by the endpoint, not caused by failures. */
  get paused(): boolean {
    return this.#paused && this.waitMs > 0;
  }

  /**
   * Allows a call during a requested pause when no other endpoint is left: one at a time and one per
   * second.
   */
  allowEarly(): boolean {
    const now = this.#clock.now();
    if (!this.paused || this.#trialUntil > now || now - this.#earlyAt < EARLY_MS) return false;
    this.#earlyAt = now;
    this.#early = true;
    this.#trialUntil = now + TRIAL_MS;
    return true;
  }

  /** @returns whether this closes the circuit */
  succeeded(): boolean {
    const closes = this.#failures >= this.#failuresToOpen;
    if (this.#early) this.#openUntil = 0;
    this.#early = false;
    this.#failures = 0;
    this.#trialUntil = 0;
    return closes;
  }

  /** @returns whether this opens the circuit */
  failed(): boolean {
    this.#trialUntil = 0;
    this.#early = false;
    // Calls started before the circuit opened do not count.
    if (this.waitMs > 0) return false;
    this.#failures += 1;
    if (this.#failures < this.#failuresToOpen) return false;
    const cooldown = FIRST_COOLDOWN_MS * 2 ** (this.#failures - this.#failuresToOpen);
    this.#openUntil = this.#clock.now() + Math.min(cooldown, LONGEST_COOLDOWN_MS);
    this.#paused = false;
    return true;
  }

  /** The endpoint requested a pause (Retry-After, RFC 9110 section 10.2.3). Does not count as a failure. */
  pause(ms: number): void {
    this.#trialUntil = 0;
    this.#early = false;
    this.#paused = true;
    this.#openUntil = Math.max(this.#openUntil, this.#clock.now() + ms);
  }

  /** The call ended without an outcome. */
  abandoned(): void {
    this.#trialUntil = 0;
    this.#early = false;
  }
}
