import type { PaymentVerifier, PaymentVerdict, PaymentQuery } from "../../app/payments/payment-methods.ts";
import type { Clock } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import type { Tracer } from "../../domain/core/span.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import type { Metrics } from "../../app/operations/metrics.ts";
import type { Log } from "../../domain/core/log.ts";
import { SolanaRpc } from "../rpc/rpc.ts";
import { StatusPoller, type Wait } from "./status-poller.ts";
import { TransactionReader, type Finding } from "../transactions/transaction-reader.ts";
import { treasuryOf, type Treasury } from "../core/treasury.ts";
import type { Refusal } from "../transactions/refusal.ts";

export interface ChainOptions {
  /** SOLANA_RPC_URLS, in the order of use. */
  readonly urls: readonly string[];
  /** TREASURY_OWNER, base58. */
  readonly treasuryOwner: string;
  /** MEMO_PREFIX. */
  readonly memoPrefix: string;
  /** PAYMENT_WAIT_MS: how long a call waits for its transaction. */
  readonly waitMs: number;
  /** FINALIZED_ABOVE_MICROUSD: payments of at least this amount must be finalized. */
  readonly finalizedAbove: MicroUsd;
  readonly clock: Clock;
  readonly log: Log;
  /** Time limit of one attempt at one endpoint, ms; default 3000. */
  readonly attemptMs?: number;
  readonly metrics?: Metrics;
  readonly tracer?: Pick<Tracer, "current"> | undefined;
}

const ATTEMPT_MS = 3_000;
/** Lifetime, ms, and size of the cache of unknown signatures. */
const [ABSENT_MS, MOST_ABSENT] = [10_000, 10_000];

/** Opens the chain without sending a request. @throws TypeError for an invalid URL or owner */
export function openChain(options: ChainOptions): SolanaChain {
  const { clock, log, metrics, tracer, attemptMs = ATTEMPT_MS } = options;
  return new SolanaChain(
    options,
    new SolanaRpc(options.urls, { clock, log, metrics, tracer, attemptMs }),
    treasuryOf(options.treasuryOwner),
  );
}

type Rules = Pick<ChainOptions, "memoPrefix" | "waitMs" | "finalizedAbove" | "clock" | "log">;

export class SolanaChain implements PaymentVerifier {
  readonly rpc: SolanaRpc;
  readonly treasury: Treasury;
  readonly #rules: Rules;
  readonly #reader: TransactionReader;
  readonly #poller: StatusPoller;
  readonly #refusals: RefusalCache;
  /** Timestamps, ms, at which no endpoint knew a signature. */
  readonly #absent = new Lru<string, number>(MOST_ABSENT);

  constructor(rules: Rules, rpc: SolanaRpc, treasury: Treasury) {
    this.rpc = rpc;
    this.treasury = treasury;
    this.#rules = rules;
    this.#refusals = new RefusalCache(rules.clock);
    this.#reader = new TransactionReader(rpc, { treasury, memoPrefix: rules.memoPrefix });
    this.#poller = new StatusPoller(rpc, rules.log);
  }

  /**
   * Verifies a transaction and waits for it if needed. A confirmed payment costs one RPC request.
   * @throws ToolgateError UNAVAILABLE if endpoints fail and no other knows the transaction; the signal's
   * reason on abort
   */
  async verify({ txSignature, signal }: PaymentQuery): Promise<PaymentVerdict> {
    const known = this.#refusals.get(txSignature);
    if (known) return known;
    const query = { txSignature, commitment: "confirmed", signal } as const;
    const absent = this.#wasAbsent(txSignature);
    const found = absent ? undefined : await this.#reader.read(query);
    if (found && !this.#needsFinality(found)) return this.#verdict(txSignature, found);

    const patience = AbortSignal.timeout(this.#rules.waitMs);
    const finding = found ?? (await this.#await({ ...query, patience }, absent));
    if (!finding) {
      if (!absent) this.#absent.set(txSignature, this.#rules.clock.now());
      return { kind: "not_found" };
    }
    if (!this.#needsFinality(finding)) return this.#verdict(txSignature, finding);
    return this.#requireFinality(finding, { ...query, commitment: "finalized", patience });
  }

  close(): void {
    this.#poller.close();
  }

  /**
   * Whether no endpoint found it recently: then the shared poller waits for it, without a request of its
   * own. Waits no longer than a call, so it sees a payment that lands as early as before.
   */
  #wasAbsent(txSignature: string): boolean {
    const { clock, waitMs } = this.#rules;
    return (
      clock.now() - (this.#absent.get(txSignature) ?? Number.NEGATIVE_INFINITY) < Math.min(ABSENT_MS, waitMs)
    );
  }

  /**
   * Waits until an endpoint returns the transaction; queries all endpoints at the end.
   * @param absent no endpoint found it recently: if polling confirms that, none is queried again
   */
  async #await(wait: Wait, absent: boolean): Promise<Finding | undefined> {
    const searched = new Set<Endpoint>();
    for (let unseen = absent; ; unseen = false) {
      // A status can be ahead of the transaction's record; the poller sets the pace.
      const match = await this.#poller.wait(wait, searched);
      if (!match && unseen && searched.size === this.rpc.endpoints.length) return undefined;
      if (!match) return this.#reader.readEverywhere(wait);
      const finding = await this.#reader.read(wait, [match.endpoint, ...this.#others(match.endpoint)]);
      if (finding) return { ...finding, finalized: match.finalized };
    }
  }

  /**
   * Reads a large payment again once finalized, from a second endpoint if there is one: a single endpoint
   * could forge it.
   */
  async #requireFinality(first: Finding, wait: Wait): Promise<PaymentVerdict> {
    const order = [...this.#others(first.endpoint), ...this.rpc.endpoints];
    for (;;) {
      const again = await this.#reader.read(wait, order);
      if (again && !samePayment(first, again)) throw this.#disagreement(wait.txSignature, first, again);
      if (again) return this.#verdict(wait.txSignature, { ...again, finalized: true });
      if (!(await this.#poller.wait(wait))) return { kind: "not_finalized" };
    }
  }

  #needsFinality({ evidence }: Finding): boolean {
    return evidence.kind === "paid" && evidence.amount >= this.#rules.finalizedAbove;
  }

  #verdict(txSignature: string, { evidence, finalized }: Finding): PaymentVerdict {
    if (evidence.kind === "paid") return { ...evidence, finalized };
    this.#refusals.set(txSignature, evidence);
    return evidence;
  }

  #others(endpoint: Endpoint | undefined): Endpoint[] {
    return this.rpc.endpoints.filter((other) => other !== endpoint);
  }

  #disagreement(txSignature: string, first: Finding, again: Finding): ToolgateError {
    const endpoints = [first.endpoint?.host, again.endpoint?.host];
    this.#rules.log.error(
      { tx_signature: txSignature, endpoints },
      "Solana RPC endpoints disagree on a transaction",
    );
    return new ToolgateError(
      "UNAVAILABLE",
      "the Solana network's answers contradict each other; nothing was consumed, repeat the call with " +
        "the same proof",
      { retryAfterSeconds: 5 },
    );
  }
}

function samePayment({ evidence: one }: Finding, { evidence: other }: Finding): boolean {
  return (
    one.kind === "paid" && other.kind === "paid" && one.amount === other.amount && one.memo === other.memo
  );
}

const CAPACITY = 10_000;
/** Lifetime of a cached refusal, ms: a failed transaction may be dropped with its fork and then succeed. */
const LIFETIME_MS = 30_000;

/** Caches refused transactions by signature: repeating a bad proof costs no RPC request. */
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

  /** Evicts the oldest entry when full. */
  set(txSignature: string, refusal: Refusal): void {
    this.#refusals.delete(txSignature);
    this.#refusals.set(txSignature, { refusal, until: this.#clock.now() + LIFETIME_MS });
    if (this.#refusals.size <= CAPACITY) return;
    const [oldest] = this.#refusals.keys();
    if (oldest !== undefined) this.#refusals.delete(oldest);
  }
}
