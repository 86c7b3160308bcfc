import {
  gaslessProofs,
  messageHashOf,
  NOTHING_STATED,
  relayedPayer,
} from "../../../domain/payments/body-proof.ts";
import type { GaslessProof } from "../../../domain/payments/body-proof.ts";
import { malformedProof, ToolgateError } from "../../../domain/core/errors.ts";
import type { MicroUsd } from "../../../domain/core/money.ts";
import { parseMemo } from "../../../domain/payments/memo.ts";
import { solanaCharge, type PaymentRequest } from "../../../domain/payments/payment-auth.ts";
import type { Quote } from "../../../domain/payments/quote.ts";
import { X_PAYMENT_FORMATS } from "../../../domain/payments/x402-payload.ts";
import { X402_V1_NETWORK, x402Terms, type X402Treasury } from "../../../domain/payments/x402.ts";
import { settleOnChain, type ChainPayment, type ChainPaymentDeps } from "../chain-payment.ts";
import type {
  PaymentAttempt,
  PaymentInstructions,
  PaymentMethod,
  SettledPayment,
  X402Entry,
} from "../payment-methods.ts";
import { paymentFailed, paymentPending } from "./relay-errors.ts";
import type { Relay, RelayedTransaction } from "./relay-port.ts";
import type { RelayClaims, RelayClaim } from "./relay-claims.ts";

export interface GaslessDeps extends ChainPaymentDeps {
  /** Undefined: the relay is off. */
  readonly relay: Relay | undefined;
  /** Claims stay known when the relay is off. */
  readonly claims: Pick<RelayClaims, "find">;
  readonly treasury: X402Treasury;
  /** GASLESS_MINIMUM_MICROUSD: a payment must be worth more than its fee. */
  readonly gaslessMinimum: MicroUsd;
  /** Aborts at the end of a shutdown's grace period; repeating the call returns the outcome. */
  readonly stopping: AbortSignal;
  readonly finality: Pick<PaymentMethod, "finalityStatuses">;
}

/** A transaction to send; `claim`: it was claimed before and would be refused now. */
type Unsent =
  | { readonly transaction: RelayedTransaction; readonly proof: GaslessProof; readonly claim?: never }
  | { readonly claim: RelayClaim };

interface GaslessPayment extends ChainPayment {
  readonly unsent: Unsent;
}

/** A USDC transfer on Solana that the payer signs and the gateway sends (x402 `exact`). */
export class GaslessMethod implements PaymentMethod<GaslessProof, GaslessPayment> {
  readonly name = gaslessProofs.name;
  readonly network = gaslessProofs.network;
  readonly recognise = gaslessProofs.recognise;
  readonly isSame = gaslessProofs.isSame;
  readonly #deps: GaslessDeps;
  readonly #instructions: PaymentInstructions | undefined;

  constructor(deps: GaslessDeps) {
    this.#deps = deps;
    this.#instructions = deps.relay && {
      name: "gasless",
      xPayment: X_PAYMENT_FORMATS.gasless,
      sponsor: { feePayer: deps.relay.feePayer, treasuryOwner: deps.treasury.owner },
    };
  }

  instructions({ price }: Quote): PaymentInstructions | undefined {
    return price >= this.#deps.gaslessMinimum ? this.#instructions : undefined;
  }

  async x402(quote: Quote): Promise<X402Entry> {
    const { relay, treasury, memoPrefix } = this.#deps;
    if (!relay) throw new Error("an x402 offer while the relay is off");
    const recent = await relay.recentBlockhash();
    return {
      terms: x402Terms(treasury, relay.feePayer, memoPrefix, quote),
      v1Network: X402_V1_NETWORK,
      // Saves the client a request to the chain.
      hints: recent
        ? { recentBlockhash: recent.blockhash, lastValidBlockHeight: String(recent.lastValidBlockHeight) }
        : {},
    };
  }

  async request({ quoteId, price }: Quote): Promise<PaymentRequest> {
    const { relay, treasury, memoPrefix } = this.#deps;
    if (!relay) throw new Error("a payment request while the relay is off");
    const recentBlockhash = (await relay.recentBlockhash())?.blockhash;
    const sponsor = { feePayerKey: relay.feePayer, recentBlockhash };
    return solanaCharge(treasury, `${memoPrefix}:${quoteId}`, price, sponsor);
  }

  /** A claimed transaction stays known whatever has been configured since: it may have paid. */
  async identify(proof: GaslessProof): Promise<GaslessPayment> {
    try {
      return await this.#identifyUnsent(proof);
    } catch (refusal) {
      const messageHash = messageHashOf(proof.transaction);
      const claim = messageHash && (await this.#deps.claims.find(messageHash));
      if (!claim) throw refusal;
      requireSameQuote(proof, claim.quoteId);
      const payer = relayedPayer(claim.signedTransaction);
      return paymentOf(claim.txSignature, claim.quoteId, payer, { claim });
    }
  }

  async verify({ unsent }: GaslessPayment, { quote }: PaymentAttempt): Promise<void> {
    if (unsent.claim) {
      if (unsent.claim.state === "failed") throw paymentFailed(unsent.claim.reason ?? "");
      return;
    }
    const { transaction, proof } = unsent;
    const difference = this.#differenceOf(proof, quote);
    // A claim was checked against the terms of its time.
    if (difference && !(await this.#deps.claims.find(transaction.messageHash))) throw difference;
  }

  /** Sends the transaction unless it was sent. The time of its claim counts as the time of payment. */
  async settle(payment: GaslessPayment, attempt: PaymentAttempt): Promise<SettledPayment> {
    const claimedAt = await this.#submit(payment, attempt);
    try {
      return await settleOnChain(this.#deps, payment, { ...attempt, receivedAt: claimedAt }, "gasless");
    } catch (error) {
      // Already broadcast: reporting a failure here could make the client pay twice.
      throw error instanceof ToolgateError && error.code === "UNAVAILABLE" ? paymentPending(error) : error;
    }
  }

  finalityStatuses(...query: Parameters<PaymentMethod["finalityStatuses"]>) {
    return this.#deps.finality.finalityStatuses(...query);
  }

  /** Returns when the payer paid, ms. */
  async #submit({ unsent }: GaslessPayment, { quote, receivedAt, context }: PaymentAttempt): Promise<number> {
    // The relay's background job sends it if needed.
    if (unsent.claim) return unsent.claim.claimedAt;
    const { caller, signal } = context;
    const { claimedAt } = await this.#relay(unsent.proof).relay({
      transaction: unsent.transaction,
      quote,
      accountId: caller.accountId,
      keyId: caller.keyId,
      receivedAt,
      signal: AbortSignal.any([signal, this.#deps.stopping]),
    });
    return claimedAt;
  }

  async #identifyUnsent(proof: GaslessProof): Promise<GaslessPayment> {
    const { memoPrefix } = this.#deps;
    const transaction = await this.#relay(proof).identify(proof.transaction);
    const memo = parseMemo(transaction.memo, memoPrefix);
    if (memo?.form !== "prefix")
      throw malformedProof(
        `${proof.carrier}: the transaction must carry one memo, ${memoPrefix}:<quote_id> with the ` +
          "quote_id of the 402 answer",
      );
    requireSameQuote(proof, memo.quoteId);
    const { txSignature, payer } = transaction;
    return paymentOf(txSignature, memo.quoteId, payer, { transaction, proof });
  }

  /** An x402 payload repeats the offer that it takes. Nothing is priced from it. */
  #differenceOf(proof: GaslessProof, quote: Quote): ToolgateError | undefined {
    const { accepted, carrier } = proof;
    if (!accepted) return undefined;
    const { treasury, memoPrefix } = this.#deps;
    const terms = x402Terms(treasury, this.#relay(proof).feePayer, memoPrefix, quote);
    for (const name of ["scheme", "network", "amount", "asset", "payTo", "feePayer", "memo"] as const) {
      if (accepted[name] === undefined || accepted[name] === terms[name]) continue;
      const path = name === "feePayer" || name === "memo" ? `extra.${name}` : name;
      return new ToolgateError(
        "INVALID_PAYMENT",
        `payment verification failed: ${carrier}: accepted.${path} is not what was offered; take an ` +
          `entry of \`accepts\` of the 402 answer, unchanged`,
      );
    }
    return undefined;
  }

  #relay({ carrier }: GaslessProof): Relay {
    if (this.#deps.relay) return this.#deps.relay;
    throw malformedProof(
      `${carrier}: the gasless relay is off: send the transaction yourself and prove it with {tx, quote_id}`,
    );
  }
}

function paymentOf(txSignature: string, quoteId: string, payer: string, unsent: Unsent): GaslessPayment {
  const common = { method: gaslessProofs.name, stepId: undefined, made: false, stated: NOTHING_STATED };
  return { ...common, network: gaslessProofs.network, reference: txSignature, quoteId, payer, unsent };
}

function requireSameQuote({ carrier, quoteId }: GaslessProof, named: string): void {
  if (quoteId !== undefined && quoteId !== named)
    throw malformedProof(`${carrier}: quote_id is not the one in the transaction's memo`);
}
