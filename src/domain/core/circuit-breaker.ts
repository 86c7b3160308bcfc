import type { Clock } from "./clock.ts";
import { Lru } from "./lru.ts";

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
   * Allows a call during a requested pause when no other endpoint is left: one at a time and one per second.
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

/** Consecutive faults that open one account's circuit. Higher than usual, since prompts can cause faults. */
const FAULTS_OF_ONE = 5;

/** Consecutive faulty accounts that open the circuit for all. */
const ACCOUNTS_TO_OPEN = 3;

const MOST_ACCOUNTS = 10_000;

/**
 * A circuit breaker per account and one for all. Callers can provoke errors, so a fault counts against its
 * account, and only once per account against the server: no caller can lock out another. Failed connections
 * always count, since the server has read nothing.
 */
export class AccountBreaker {
  readonly #clock: Clock;
  readonly #shared: CircuitBreaker;
  readonly #own = new Lru<string, CircuitBreaker>(MOST_ACCOUNTS);
  /** Accounts with a fault since the last success. */
  readonly #met = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#shared = new CircuitBreaker(clock, { failuresToOpen: ACCOUNTS_TO_OPEN });
  }

  /** Time until a call of this account is allowed, ms; 0: now. */
  waitMs(accountId: string): number {
    return Math.max(this.#shared.waitMs, this.#own.get(accountId)?.waitMs ?? 0);
  }

  /** Returns whether a call is allowed; its outcome must then be reported. */
  allow(accountId: string): boolean {
    const own = this.#own.get(accountId);
    if (own && !own.allow()) return false;
    if (this.#shared.allow()) return true;
    own?.abandoned();
    return false;
  }

  /** @returns whether this closes the shared circuit */
  succeeded(accountId: string): boolean {
    this.#own.delete(accountId);
    this.#met.clear();
    return this.#shared.succeeded();
  }

  /** The server was unreachable. @returns whether this opens the shared circuit */
  unreachable(accountId: string): boolean {
    this.#own.get(accountId)?.abandoned();
    return this.#shared.failed();
  }

  /** The server was reached and failed. @returns whether this opens the shared circuit */
  failed(accountId: string): boolean {
    const own =
      this.#own.get(accountId) ?? new CircuitBreaker(this.#clock, { failuresToOpen: FAULTS_OF_ONE });
    this.#own.set(accountId, own);
    own.failed();
    if (!this.#met.has(accountId) && this.#met.size < ACCOUNTS_TO_OPEN) {
      this.#met.add(accountId);
      return this.#shared.failed();
    }
    this.#shared.abandoned();
    return false;
  }

  /** The call ended without an outcome. */
  abandoned(accountId: string): void {
    this.#own.get(accountId)?.abandoned();
    this.#shared.abandoned();
  }
}
