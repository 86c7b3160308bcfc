import { ToolgateError } from "../../domain/core/errors.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import type { Log } from "../../domain/core/log.ts";
import type { SolanaRpc } from "../rpc/rpc.ts";
import { hasReached, readStatuses } from "../transactions/transaction-failure.ts";
import type { Commitment, SignatureStatus } from "../transactions/transaction-failure.ts";

export interface Wait {
  readonly txSignature: string;
  readonly commitment: Commitment;
  /** The caller's signal: waiting rejects with its reason. */
  readonly signal: AbortSignal;
  /** Aborts at the end of the waiting time: waiting resolves to undefined. */
  readonly patience: AbortSignal;
}

export interface SeenStatus {
  readonly endpoint: Endpoint;
  readonly finalized: boolean;
}

interface Waiter {
  readonly wait: Wait;
  /** Endpoints that searched beyond their recent statuses. */
  readonly searched: Set<Endpoint>;
  readonly resolve: (match: SeenStatus | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

const TICK_MS = 400;
/** Maximum signatures of one `getSignatureStatuses` request. */
const BATCH = 256;

/**
 * Polls transactions for all waiting calls: one `getSignatureStatuses` per tick for up to 256 of them.
 * Ticks rotate through the endpoints, so the next one compensates for one that lags or fails.
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
   * Resolves when an endpoint has seen the transaction at the commitment; undefined when the waiting time
   * ends.
   * @param searched collects the endpoints that searched their whole history
   */
  async wait(wait: Wait, searched = new Set<Endpoint>()): Promise<SeenStatus | undefined> {
    wait.signal.throwIfAborted();
    if (wait.patience.aborted) return undefined;
    const { promise, resolve, reject } = Promise.withResolvers<SeenStatus | undefined>();
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
    // The first endpoint was just queried, so rotation starts with the second.
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
      // An outage may end in time; a caller whose time is up requests the transaction again and receives the
      // error then.
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
