import type { Clock } from "../../../domain/core/clock.ts";
import { ToolgateError } from "../../../domain/core/errors.ts";
import type { MicroUsd } from "../../../domain/core/money.ts";
import { RELAY_REFUSALS, relayRefused } from "../../../domain/payments/relay-refusal.ts";
import type { Log } from "../../../domain/core/log.ts";
import type { ChainLookupLimit } from "../chain-lookup-limit.ts";
import { RecentBlockhashes } from "./recent-blockhashes.ts";
import {
  claimRefused,
  paymentFailed,
  paymentLost,
  paymentPending,
  quoteExpired,
  quoteTooCheap,
  reasonOf,
} from "./relay-errors.ts";
import { TransactionSubmission, type SubmissionState } from "./transaction-submission.ts";
import type {
  FacilitatingRelay,
  RelayChain,
  RelayRequest,
  RelayTerms,
  RecentBlockhash,
  RelayedTransaction,
  Sponsor,
  UnsignedTransaction,
} from "./relay-port.ts";
import type { RelayClaims, RelayClaim, RelayLimits, RelayState } from "./relay-claims.ts";
import { unlessAborted } from "../../../domain/core/unless-aborted.ts";

/** Blocks during which a blockhash is valid. */
const BLOCKHASH_BLOCKS = 150n;
/**
 * Minimum of remaining blocks: with fewer, the transaction may not land and the payer would have to sign
 * again.
 */
const BLOCKS_LEFT = 30n;
/** Minimum time to follow a payment, ms, however short the caller's wait. */
const LEAST_FOLLOW_MS = 5_000;

/** Age at which a confirmed but uncredited payment is checked again, ms: by then every honest node has it. */
const LOST_AFTER_MS = 300_000;

export interface RelayDeps {
  readonly sponsor: Sponsor;
  readonly claims: RelayClaims;
  readonly chain: RelayChain;
  readonly clock: Clock;
  readonly limits: RelayLimits;
  /** GASLESS_MINIMUM_MICROUSD. */
  readonly minimum: MicroUsd;
  /** PAYMENT_WAIT_MS: how long a call waits before it returns PAYMENT_PENDING. */
  readonly waitMs: number;
  /** Limits the chain lookups of refused claims. */
  readonly lookupLimit: Pick<ChainLookupLimit, "run">;
  readonly log: Log;
  /** Aborts at the end of a shutdown's grace period. Other instances continue what is in progress. */
  readonly stopping: AbortSignal;
}

/** Signs, sends and tracks payments whose network fee the gateway pays. The gasless docs show the states. */
export class GaslessRelay implements FacilitatingRelay {
  readonly feePayer: string;
  readonly #deps: RelayDeps;
  readonly #blockhashes: RecentBlockhashes;
  readonly #submission: TransactionSubmission;
  /** Claims in progress on this instance by message hash: concurrent calls share one loop. */
  readonly #underway = new Map<string, Promise<SubmissionState>>();

  constructor(deps: RelayDeps) {
    this.feePayer = deps.sponsor.feePayer;
    this.#deps = deps;
    this.#blockhashes = new RecentBlockhashes(deps.chain, deps.clock);
    this.#submission = new TransactionSubmission(deps);
  }

  sponsorTo(recipient: string): Sponsor {
    return this.#deps.sponsor.to(recipient);
  }

  async identify(bytes: Uint8Array, sponsor = this.#deps.sponsor): Promise<RelayedTransaction> {
    await sponsor.prepare(bytes);
    const decoded = sponsor.decode(bytes);
    const txSignature =
      decoded.txSignature ?? (await this.#deps.claims.find(decoded.messageHash))?.txSignature;
    if (txSignature !== undefined) return { ...decoded, txSignature };
    throw relayRefused(
      RELAY_REFUSALS.FEE_PAYER,
      `the fee payer must be ${this.feePayer}; build a new transaction with the fee_payer of the 402 ` +
        "response",
    );
  }

  async relay(order: RelayRequest): Promise<{ claimedAt: number }> {
    const known = await this.#deps.claims.find(order.transaction.messageHash);
    const claim =
      known ??
      (await this.#deps.lookupLimit.run(
        order.accountId,
        () => this.#claim(order),
        () => "something",
      ));
    requireSameQuote(claim, order);
    // The payment is now in progress whether its caller waits or not.
    const { state, reason } = await this.#waitFor(claim, order.signal);
    if (state === "confirmed") {
      if (await this.#isLost(claim, order.signal)) throw paymentLost();
      return { claimedAt: claim.claimedAt };
    }
    throw state === "failed" ? paymentFailed(reason ?? "") : paymentPending();
  }

  async check(order: RelayRequest): Promise<void> {
    const { lookupLimit, claims, chain } = this.#deps;
    const known = await claims.find(order.transaction.messageHash);
    if (known) requireSameQuote(known, order);
    const failure = await lookupLimit.run(
      order.accountId,
      async () => chain.simulate((await this.#sign(order)).signedTransaction, order.signal),
      () => "something",
    );
    if (failure !== undefined) throw paymentFailed(reasonOf("simulation_failed", failure));
  }

  recentBlockhash(): Promise<RecentBlockhash | undefined> {
    return this.#blockhashes.get();
  }

  async build({
    quote,
    payer,
    signal,
  }: Parameters<FacilitatingRelay["build"]>[0]): Promise<UnsignedTransaction> {
    this.#requireRelayable(quote, this.#deps.clock.now());
    const recent = await unlessAborted(this.#blockhashes.get(), signal);
    if (recent) return this.#deps.sponsor.build({ quote, payer, recent });
    throw new ToolgateError("UNAVAILABLE", "the Solana network does not answer; repeat the call", {
      retryAfterSeconds: 2,
    });
  }

  /**
   * Advances a claim that no caller waits for.
   * @returns its state
   * @throws ToolgateError UNAVAILABLE when no endpoint responds
   */
  async advance(claim: RelayClaim, signal: AbortSignal): Promise<RelayState> {
    if (this.#underway.has(claim.messageHash.toString("hex"))) return claim.state;
    return (await this.#submission.step(claim, { resend: true, signal })).state;
  }

  /** Resolves when nothing is in progress: soon after `stopping`. Never rejects. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underway.values());
  }

  async #claim(order: RelayRequest): Promise<RelayClaim> {
    const { claims, limits } = this.#deps;
    const { accountId, keyId, transaction, quote } = order;
    const { messageHash, txSignature } = transaction;
    const { quoteId } = quote;
    const claim = { messageHash, quoteId, accountId, keyId, txSignature, ...(await this.#sign(order)) };
    const verdict = await claims.claim(claim, limits).catch((error: unknown) => {
      // The claim may be stored nevertheless, and is sent then.
      throw error instanceof ToolgateError && error.code === "UNAVAILABLE" ? paymentPending(error) : error;
    });
    if (verdict.kind === "claimed" || verdict.kind === "known") return verdict.claim;
    throw claimRefused(verdict);
  }

  /** Checks everything that needs no claim. */
  async #sign({ transaction, quote, receivedAt, signal, sponsor = this.#deps.sponsor }: RelayRequest) {
    this.#requireRelayable(quote, receivedAt);
    await sponsor.prepare(transaction.bytes);
    const signed = sponsor.sign(transaction, quote);
    const lastValidBlockHeight = await this.#lastValidBlockHeight(transaction.blockhash, signal);
    return { ...signed, lastValidBlockHeight };
  }

  #requireRelayable(quote: RelayTerms, at: number): void {
    if (at > quote.expiresAt) throw quoteExpired();
    if (quote.price < this.#deps.minimum) throw quoteTooCheap(quote.price, this.#deps.minimum);
  }

  /**
   * Returns the last block height at which a transaction on the blockhash can land. For a blockhash issued
   * elsewhere only an upper bound is known.
   */
  async #lastValidBlockHeight(blockhash: string, signal: AbortSignal): Promise<bigint> {
    const { valid, blockHeight } = await this.#deps.chain.blockhashStatus(blockhash, signal);
    if (!valid) {
      throw relayRefused(
        RELAY_REFUSALS.BLOCKHASH_EXPIRED,
        "the network no longer accepts the transaction's blockhash; nothing was sent, sign a new " +
          "transaction on a recent one",
      );
    }
    const end = this.#blockhashes.lastValidBlockHeight(blockhash);
    if (end === undefined) return blockHeight + BLOCKHASH_BLOCKS;
    if (end - blockHeight >= BLOCKS_LEFT) return end;
    throw relayRefused(
      RELAY_REFUSALS.BLOCKHASH_TOO_OLD,
      `the transaction's blockhash ends in ${end - blockHeight} blocks, too soon to land; nothing was ` +
        "sent, sign a new one on a recent blockhash",
    );
  }

  /**
   * Whether a payment reported as confirmed was dropped. Without this check its caller would wait forever.
   */
  async #isLost(
    { txSignature, lastValidBlockHeight, claimedAt }: RelayClaim,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (this.#deps.clock.now() - claimedAt < LOST_AFTER_MS) return false;
    try {
      const outcome = await this.#deps.chain.outcome({ txSignature, lastValidBlockHeight, signal });
      return outcome.kind === "absent" && outcome.expired;
    } catch (error) {
      if (error instanceof ToolgateError) throw paymentPending(error);
      throw error;
    }
  }

  async #waitFor(claim: RelayClaim, signal: AbortSignal): Promise<SubmissionState> {
    const late = AbortSignal.timeout(this.#deps.waitMs);
    try {
      return await unlessAborted(this.#follow(claim), AbortSignal.any([signal, late]));
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) return claim;
      throw error;
    }
  }

  #follow(claim: RelayClaim): Promise<SubmissionState> {
    const name = claim.messageHash.toString("hex");
    const underway = this.#underway.get(name);
    if (underway) return underway;
    const patience = AbortSignal.timeout(Math.max(this.#deps.waitMs, LEAST_FOLLOW_MS));
    const following = this.#submission
      .waitForOutcome(claim, AbortSignal.any([patience, this.#deps.stopping]))
      .finally(() => this.#underway.delete(name));
    this.#underway.set(name, following);
    return following;
  }
}

/** A facilitator's payment has its own quote, so that it settles once. */
function requireSameQuote(claim: RelayClaim, { quote: { quoteId } }: RelayRequest): void {
  const { txSignature } = claim;
  if (claim.quoteId !== quoteId) throw claimRefused({ kind: "quote_taken", txSignature });
}
