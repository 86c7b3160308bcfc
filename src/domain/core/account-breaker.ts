import { CircuitBreaker } from "./circuit-breaker.ts";
import type { Clock } from "./clock.ts";
import { Lru } from "./lru.ts";

/** Faults in a row that keep one account away. A conversation can be what makes a server fail, so they are more than usual. */
const FAULTS_OF_ONE = 5;

/** Accounts in a row whose calls meet a fault before all accounts are kept away. */
const ACCOUNTS_TO_OPEN = 3;

/** Accounts that are remembered. */
const MOST_ACCOUNTS = 10_000;

/**
 * Keeps calls away from a server that fails. What a server answers can be provoked by what it is asked, so a fault opens the circuit of the
 * account that met it, and counts once for each account against the server: no caller can keep another one away. A server that cannot
 * be reached has not read anything, so each such fault counts.
 */
export class AccountBreaker {
  readonly #clock: Clock;
  readonly #shared: CircuitBreaker;
  readonly #own = new Lru<string, CircuitBreaker>(MOST_ACCOUNTS);
  /** Accounts that met a fault since the last success. */
  readonly #met = new Set<string>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#shared = new CircuitBreaker(clock, { failuresToOpen: ACCOUNTS_TO_OPEN });
  }

  /** Milliseconds until a call of this account may pass; 0: now. */
  waitMs(accountId: string): number {
    return Math.max(this.#shared.waitMs, this.#own.get(accountId)?.waitMs ?? 0);
  }

  /** Returns whether a call may be made; then its outcome has to be reported. */
  allow(accountId: string): boolean {
    const own = this.#own.get(accountId);
    if (own && !own.allow()) return false;
    if (this.#shared.allow()) return true;
    own?.abandoned();
    return false;
  }

  /** The server answered. @returns whether this closes the circuit of all accounts */
  succeeded(accountId: string): boolean {
    this.#own.delete(accountId);
    this.#met.clear();
    return this.#shared.succeeded();
  }

  /** The server could not be reached. @returns whether this opens the circuit of all accounts */
  unreachable(accountId: string): boolean {
    this.#own.get(accountId)?.abandoned();
    return this.#shared.failed();
  }

  /** The server was reached, and failed. @returns whether this opens the circuit of all accounts */
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

  /** There was no outcome. */
  abandoned(accountId: string): void {
    this.#own.get(accountId)?.abandoned();
    this.#shared.abandoned();
  }
}
