import { CircuitBreaker } from "./circuit-breaker.ts";
import type { Clock } from "./clock.ts";
import { Lru } from "./lru.ts";

/**
 * Consecutive faults that open one account's circuit. Higher than usual, since prompts can cause faults.
 */
const FAULTS_OF_ONE = 5;

/** Consecutive faulty accounts that open the circuit for all. */
const ACCOUNTS_TO_OPEN = 3;

/** Capacity of the memory of accounts. */
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
