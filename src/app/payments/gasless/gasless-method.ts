import type { StatedPayment } from "../../../domain/payments/body-proof.ts";
import { malformedProof, ToolgateError } from "../../../domain/core/errors.ts";
import { parseMemo } from "../../../domain/payments/memo.ts";
import { messageHashOf } from "../../../domain/payments/message-hash.ts";
import type { GaslessProof, Proof } from "../../../domain/payments/proof.ts";
import type { Quote } from "../../../domain/payments/quote.ts";
import { x402Terms, type X402Treasury } from "../../../domain/payments/x402.ts";
import type { CallContext } from "../../calls/call-context.ts";
import { paymentFailed } from "./relay-errors.ts";
import type { Relay } from "./relay-port.ts";
import type { RelayClaims, RelayClaim } from "./relay-claims.ts";
import type { RelayedTransaction } from "./sponsor.ts";

/** Dependencies of relaying a payment. */
export interface GaslessDeps {
  /** Undefined when the relay is off. */
  readonly relay: Relay | undefined;
  /** All relayed payments; they stay known when the relay is off. */
  readonly claims: Pick<RelayClaims, "find">;
  /** What x402 payloads must name. */
  readonly treasury: X402Treasury;
  readonly memoPrefix: string;
  /** Aborts at the end of a shutdown's grace period; a repeated call returns the outcome of a sent payment. */
  readonly stopping: AbortSignal;
}

/** A proof with the identifiers that the ledger and the chain use. */
export interface IdentifiedPayment {
  readonly txSignature: string;
  readonly quoteId: string;
  readonly stated: StatedPayment;
  /** The transaction to be sent first; undefined when the payer sent it. */
  readonly unsent: Unsent | undefined;
}

/** A transaction to relay; `claim`: accepted before, under rules that no longer accept it. */
type Unsent =
  | { readonly transaction: RelayedTransaction; readonly proof: GaslessProof; readonly claim?: never }
  | { readonly claim: RelayClaim };

const NOTHING_CLAIMED: StatedPayment = { amount: undefined, memo: undefined, stepId: undefined };

/**
 * Returns the identifiers of a proof. For a transaction to relay: the signature it will have, and the quote of
 * its memo. A claimed transaction is identified under any settings, because it may have paid.
 * @throws ToolgateError INVALID_PAYMENT 400: nothing was sent, nothing was consumed
 */
export async function identifyPayment(deps: GaslessDeps, proof: Proof): Promise<IdentifiedPayment> {
  if (proof.kind === "transfer") return { ...proof, unsent: undefined };
  try {
    return await identifyUnsent(deps, proof);
  } catch (refusal) {
    const claim = await claimOf(deps, proof.transaction);
    if (!claim) throw refusal;
    const { txSignature, quoteId } = claim;
    requireSameQuote(proof, quoteId);
    return { txSignature, quoteId, stated: NOTHING_CLAIMED, unsent: { claim } };
  }
}

async function identifyUnsent(deps: GaslessDeps, proof: GaslessProof): Promise<IdentifiedPayment> {
  const relay = relayOf(deps, proof);
  const transaction = await relay.identify(proof.transaction);
  const memo = parseMemo(transaction.memo, deps.memoPrefix);
  if (memo?.form !== "prefix")
    throw malformedProof(
      `${proof.carrier}: the transaction must carry one memo, ${deps.memoPrefix}:<quote_id> with the quote_id of the 402 answer`,
    );
  const { quoteId } = memo;
  requireSameQuote(proof, quoteId);
  return {
    txSignature: transaction.txSignature,
    quoteId,
    stated: NOTHING_CLAIMED,
    unsent: { transaction, proof },
  };
}

async function claimOf({ claims }: GaslessDeps, transaction: Uint8Array): Promise<RelayClaim | undefined> {
  const messageHash = messageHashOf(transaction);
  return messageHash && claims.find(messageHash);
}

function requireSameQuote({ carrier, quoteId }: GaslessProof, named: string): void {
  if (quoteId !== undefined && quoteId !== named)
    throw malformedProof(`${carrier}: quote_id is not the one in the transaction's memo`);
}

/**
 * Relays the payment if it is unsent. Idempotent.
 * @returns when the payer paid, ms: decides whether the payment was in time
 * @throws ToolgateError INVALID_PAYMENT, QUOTE_EXPIRED, RATE_LIMITED, PAYMENT_PENDING, UNAVAILABLE
 */
export async function submitPayment(
  deps: GaslessDeps,
  { unsent }: IdentifiedPayment,
  quote: Quote,
  receivedAt: number,
  { caller, signal }: CallContext,
): Promise<number> {
  if (!unsent) return receivedAt;
  if (unsent.claim) {
    // The relay job finishes it.
    if (unsent.claim.state === "failed") throw paymentFailed(unsent.claim.reason ?? "");
    return unsent.claim.claimedAt;
  }
  const { transaction, proof } = unsent;
  const relay = relayOf(deps, proof);
  const difference = differenceOf(deps, relay, proof, quote);
  // An accepted payment keeps the terms of its time.
  if (difference && !(await deps.claims.find(transaction.messageHash))) throw difference;
  const { claimedAt } = await relay.relay({
    transaction,
    quote,
    accountId: caller.accountId,
    keyId: caller.keyId,
    receivedAt,
    signal: AbortSignal.any([signal, deps.stopping]),
  });
  return claimedAt;
}

/** Returns an error if an x402 payload differs from our offer. Its terms set no price. */
function differenceOf(deps: GaslessDeps, relay: Relay, { accepted, carrier }: GaslessProof, quote: Quote) {
  if (!accepted) return undefined;
  const terms = x402Terms(deps.treasury, relay.feePayer, deps.memoPrefix, quote);
  for (const name of ["scheme", "network", "amount", "asset", "payTo", "feePayer", "memo"] as const) {
    if (accepted[name] === undefined || accepted[name] === terms[name]) continue;
    const path = name === "feePayer" || name === "memo" ? `extra.${name}` : name;
    return new ToolgateError(
      "INVALID_PAYMENT",
      `payment verification failed: ${carrier}: accepted.${path} is not what was offered; take an entry of \`accepts\` of the 402 answer, unchanged`,
    );
  }
  return undefined;
}

function relayOf({ relay }: GaslessDeps, { carrier }: GaslessProof): Relay {
  if (relay) return relay;
  throw malformedProof(
    `${carrier}: the gasless relay is off: send the transaction yourself and prove it with {tx, quote_id}`,
  );
}
