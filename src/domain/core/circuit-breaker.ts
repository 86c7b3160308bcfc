import type { Clock } from "./clock.ts";

const FAILURES_TO_OPEN = 3;
const FIRST_COOLDOWN_MS = 1_000;
const LONGEST_COOLDOWN_MS = 30_000;
/** Between two calls before a pause is over, ms. */
const EARLY_MS = 1_000;
/** After so long a trial without an outcome keeps no other call away. */
const TRIAL_MS = 5_000;

/**
 * Keeps calls away from an endpoint that does not answer: three failures in a row (or as many as it is told) open it for a second, and for twice as long
 * after each trial that fails, up to half a minute. While it is half open one trial call passes at a time.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #failuresToOpen: number;
  #failures = 0;
  #openUntil = 0;
  #trialUntil = 0;
  /** Whether the endpoint asked for the time that is left. */
  #paused = false;
  #earlyAt = Number.NEGATIVE_INFINITY;
  #early = false;

  /** @param failuresToOpen how many failures in a row open it, three when left out */
  constructor(
    clock: Clock,
    { failuresToOpen = FAILURES_TO_OPEN }: { readonly failuresToOpen?: number } = {},
  ) {
    this.#clock = clock;
    this.#failuresToOpen = failuresToOpen;
  }

  /** Milliseconds until a call may pass; 0: now. */
  get waitMs(): number {
    return Math.max(0, this.#openUntil - this.#clock.now());
  }

  /** Asks leave to make one call. Whoever gets it reports the outcome: succeeded, failed or abandoned. */
  allow(): boolean {
    if (this.waitMs > 0) return false;
    if (this.#failures < this.#failuresToOpen) return true;
    if (this.#trialUntil > this.#clock.now()) return false;
    this.#trialUntil = this.#clock.now() + TRIAL_MS;
    return true;
  }

  /** Whether the time that is left is a pause that the endpoint asked for, not one after failures. */
  get paused(): boolean {
    return this.#paused && this.waitMs > 0;
  }

  /** Asks leave for a call before a pause is over, for want of another endpoint: one at a time, and one a second. */
  allowEarly(): boolean {
    const now = this.#clock.now();
    if (!this.paused || this.#trialUntil > now || now - this.#earlyAt < EARLY_MS) return false;
    this.#earlyAt = now;
    this.#early = true;
    this.#trialUntil = now + TRIAL_MS;
    return true;
  }

  /** The endpoint answered. @returns whether this closes the circuit */
  succeeded(): boolean {
    const closes = this.#failures >= this.#failuresToOpen;
    if (this.#early) this.#openUntil = 0;
    this.#early = false;
    this.#failures = 0;
    this.#trialUntil = 0;
    return closes;
  }

  /** The endpoint failed. @returns whether this opens the circuit */
  failed(): boolean {
    this.#trialUntil = 0;
    this.#early = false;
    // Calls that were on their way when the circuit opened tell nothing new.
    if (this.waitMs > 0) return false;
    this.#failures += 1;
    if (this.#failures < this.#failuresToOpen) return false;
    const cooldown = FIRST_COOLDOWN_MS * 2 ** (this.#failures - this.#failuresToOpen);
    this.#openUntil = this.#clock.now() + Math.min(cooldown, LONGEST_COOLDOWN_MS);
    this.#paused = false;
    return true;
  }

  /** The endpoint asked to be left alone for a while (HTTP Retry-After, RFC 9110 section 10.2.3). It is well, so nothing counts against it. */
  pause(ms: number): void {
    this.#trialUntil = 0;
    this.#early = false;
    this.#paused = true;
    this.#openUntil = Math.max(this.#openUntil, this.#clock.now() + ms);
  }

  /** The caller went away before there was an outcome. */
  abandoned(): void {
    this.#trialUntil = 0;
    this.#early = false;
  }
}
