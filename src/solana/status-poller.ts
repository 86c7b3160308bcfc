import { ToolgateError } from "../domain/core/errors.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Log } from "./log.ts";
import type { SolanaRpc } from "./rpc.ts";
import { hasReached, readStatuses, type Commitment, type SignatureStatus } from "./signature-status.ts";

/** What one waits for, and for how long. */
export interface Wait {
  readonly txSignature: string;
  readonly commitment: Commitment;
  /** The caller's: waiting ends with its reason. */
  readonly signal: AbortSignal;
  /** Aborts when the time to wait is over: waiting ends with undefined. */
  readonly patience: AbortSignal;
}

/** An endpoint that has seen the transaction. */
export interface Sighting {
  readonly endpoint: Endpoint;
  readonly finalized: boolean;
}

interface Waiter {
  readonly wait: Wait;
  /** Endpoints that have been asked to look beyond their recent statuses. */
  readonly searched: Set<Endpoint>;
  readonly resolve: (sighting: Sighting | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

const TICK_MS = 400;
/** What `getSignatureStatuses` takes at once. */
const BATCH = 256;

/**
 * Waits for transactions on behalf of all calls at once: one `getSignatureStatuses` per tick for up to 256 of them, however
 * many calls wait. Ticks ask the endpoints in turn, so that one that lags or does not tell is made up for by the next.
 */
export class StatusPoller {
  readonly #rpc: SolanaRpc;
  readonly #log: Log;
  readonly #waiters = new Set<Waiter>();
  readonly #closing = new AbortController();
  #ticking = false;
  #turn = 0;

  constructor(rpc: SolanaRpc, log: Log) {
    this.#rpc = rpc;
    this.#log = log;
  }

  /**
   * Resolves when an endpoint has seen the transaction at that commitment; undefined when patience is over.
   * @param searched gets the endpoints that have searched all they know for it
   */
  async wait(wait: Wait, searched = new Set<Endpoint>()): Promise<Sighting | undefined> {
    wait.signal.throwIfAborted();
    if (wait.patience.aborted) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Sighting | undefined>();
    const waiter: Waiter = { wait, searched, resolve, reject };
    const giveUp = () => resolve(undefined);
    const abort = () => reject(wait.signal.reason);
    wait.patience.addEventListener("abort", giveUp);
    wait.signal.addEventListener("abort", abort);
    this.#waiters.add(waiter);
    if (!this.#ticking) void this.#run();
    try {
      return await promise;
    } finally {
      this.#waiters.delete(waiter);
      wait.patience.removeEventListener("abort", giveUp);
      wait.signal.removeEventListener("abort", abort);
    }
  }

  /** Ends all waiting. */
  close(): void {
    this.#closing.abort();
    for (const waiter of this.#waiters) waiter.resolve(undefined);
  }

  async #run(): Promise<void> {
    this.#ticking = true;
    try {
      while (this.#waiters.size > 0 && !this.#closing.signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, TICK_MS));
        await this.#tick();
      }
    } finally {
      this.#ticking = false;
    }
  }

  async #tick(): Promise<void> {
    const { endpoints } = this.#rpc;
    // The first endpoint was asked for the transaction just before, so the turn begins with the second.
    this.#turn = (this.#turn + 1) % endpoints.length;
    const order = [...endpoints.slice(this.#turn), ...endpoints.slice(0, this.#turn)];
    const waiters = [...this.#waiters];
    const signatures = [...new Set(waiters.map(({ wait }) => wait.txSignature))];
    for (let at = 0; at < signatures.length; at += BATCH) {
      const batch = new Set(signatures.slice(at, at + BATCH));
      const waiting = waiters.filter(({ wait }) => batch.has(wait.txSignature));
      await this.#poll([...batch], waiting, order);
    }
  }

  async #poll(
    signatures: readonly string[],
    waiters: readonly Waiter[],
    order: readonly Endpoint[],
  ): Promise<void> {
    const searchTransactionHistory = waiters.some(
      ({ searched }) => order[0] !== undefined && !searched.has(order[0]),
    );
    let answer: { result: SignatureStatus[]; endpoint: Endpoint };
    try {
      answer = await this.#rpc.ask(
        {
          method: "getSignatureStatuses",
          params: [[...signatures], { searchTransactionHistory }],
          read: (result) => readStatuses(result, signatures.length),
          signal: this.#closing.signal,
        },
        order,
      );
    } catch (error) {
      // An outage may pass while there is time; whoever's time is up asks for the transaction once more and hears of it then.
      if (!(error instanceof ToolgateError) && !this.#closing.signal.aborted)
        this.#log.error({ err: error }, "polling signature statuses failed");
      return;
    }
    const statuses = new Map(signatures.map((signature, index) => [signature, answer.result[index] ?? null]));
    for (const { wait, searched, resolve } of waiters) {
      if (searchTransactionHistory) searched.add(answer.endpoint);
      const status = statuses.get(wait.txSignature) ?? null;
      if (hasReached(status, wait.commitment))
        resolve({ endpoint: answer.endpoint, finalized: hasReached(status, "finalized") });
    }
  }
}
