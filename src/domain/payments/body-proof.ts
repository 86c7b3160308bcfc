import { hash } from "node:crypto";
import { parseSignature, encodeBase58 } from "../core/base58.ts";
import { malformedProof } from "../core/errors.ts";
import { parseUsdc, type MicroUsd } from "../core/money.ts";
import { isQuoteId, parseMemo, type Memo } from "./memo.ts";
import { type BodyProof, type Proof, BODY_CARRIER, type ProofFormat, type ProofCarriers } from "./proof.ts";
import { SOLANA } from "./payment-id.ts";
import { SOLANA_CHARGE, type PaymentCredential } from "./payment-auth.ts";
import {
  demandedText,
  parseX402Payload,
  parseXPayment,
  readXPayment,
  transactionMember,
  X_PAYMENT,
  type X402Payload,
} from "./x402-payload.ts";
import type { X402Terms } from "./x402.ts";

/** The only asset (specification 8). */
export const ASSET = "USDC";

/** A proof's claims about its payment; undefined: not stated. */
export interface StatedPayment {
  amount: MicroUsd | undefined;
  memo: string | undefined;
  stepId: string | undefined;
}

/** A transfer on Solana that the caller has sent. */
export interface TransferProof extends Proof {
  readonly method: "transfer";
  /** Base58, 64 bytes, canonical. */
  readonly txSignature: string;
  readonly quoteId: string;
  readonly stated: StatedPayment;
}

/** Parses `payment_proof` of a transfer on {@link SOLANA}. @throws ToolgateError INVALID_PAYMENT 400 */
function parseBodyProof(body: BodyProof, memoPrefix: string): TransferProof {
  const memo = body.memo === undefined ? undefined : parseProofMemo(body.memo, memoPrefix);
  const quoteId = body.quoteId ?? memo?.quoteId;
  if (quoteId === undefined)
    throw malformedProof("payment_proof.quote_id: is missing, and no memo names the quote");
  if (memo && memo.quoteId !== quoteId)
    throw malformedProof("payment_proof.memo: names another quote than payment_proof.quote_id");
  if (memo?.form === "step" && body.stepId !== undefined && memo.stepId !== body.stepId) {
    throw malformedProof("payment_proof.memo: names another step than payment_proof.step_id");
  }
  const amount = body.amountUsdc === undefined ? undefined : parseUsdc(body.amountUsdc);
  if (body.amountUsdc !== undefined && amount === undefined) {
    throw malformedProof(
      'payment_proof.amount_usdc: must be decimal USDC with at most six places, e.g. "0.01"',
    );
  }
  const stepId = body.stepId ?? (memo?.form === "step" ? memo.stepId : undefined);
  return {
    method: "transfer",
    txSignature: requireSignature(body.txRef, "payment_proof.tx_ref"),
    quoteId: requireQuoteId(quoteId, "payment_proof.quote_id"),
    stated: { amount, memo: body.memo, stepId },
  };
}

/** Message for a deposit sent as proof of a call. */
export const DEPOSIT_PAYS_NO_CALL =
  "names a deposit, which pays no call by itself: it is credited to the balance of its account once " +
  "it is finalized. Wait for that, then repeat the call without a proof";

function parseProofMemo(text: string, memoPrefix: string): Memo {
  const memo = parseMemo(text, memoPrefix);
  if (memo?.form === "deposit") throw malformedProof(`payment_proof.memo: ${DEPOSIT_PAYS_NO_CALL}`);
  if (memo) return memo;
  throw malformedProof(
    `payment_proof.memo: must be <step_id>:<quote_id>:<nonce> or ${memoPrefix}:<quote_id>, as sent on ` +
      "the chain",
  );
}

/** @throws ToolgateError INVALID_PAYMENT 400 naming the field unless the text has the format of a quote id */
export function requireQuoteId(text: string, field: string): string {
  if (text.startsWith("dep_")) throw malformedProof(`${field}: ${DEPOSIT_PAYS_NO_CALL}`);
  if (!isQuoteId(text)) throw malformedProof(`${field}: must be the quote_id of a 402 answer, unchanged`);
  return text;
}

/** @throws ToolgateError INVALID_PAYMENT 400 naming the field unless the text is a transaction signature */
function requireSignature(text: string, field: string): string {
  if (!parseSignature(text))
    throw malformedProof(`${field}: must be a transaction signature (base58 of 64 bytes)`);
  return text;
}

/** Proofs in `payment_proof` and in X-Payment with `tx`. */
export function transferProofs(memoPrefix: string): ProofFormat<TransferProof> {
  return {
    name: "transfer",
    network: SOLANA,
    recognise(sent) {
      if (sent.carrier === BODY_CARRIER)
        return sent.body.network === SOLANA ? parseBodyProof(sent.body, memoPrefix) : undefined;
      if ("credential" in sent) return transferOf(sent.credential, sent.carrier);
      if (sent.carrier !== X_PAYMENT) return undefined;
      const own = readXPayment(sent.members, "transfer");
      if (own?.form !== "transfer") return undefined;
      return {
        method: "transfer",
        txSignature: requireSignature(own.txRef, "X-Payment: tx"),
        quoteId: requireQuoteId(own.quoteId, "X-Payment: quote_id"),
        stated: NOTHING_STATED,
      };
    },
    isSame: (one, other) => one.txSignature === other.txSignature && one.quoteId === other.quoteId,
  };
}

export const NOTHING_STATED: StatedPayment = { amount: undefined, memo: undefined, stepId: undefined };

/** Returns whether a credential pays by a transfer on Solana, in this form. */
function isCharge({ challenge, payload }: PaymentCredential, type: "signature" | "transaction"): boolean {
  const { method, intent } = SOLANA_CHARGE;
  return challenge.method === method && challenge.intent === intent && payload["type"] === type;
}

/** Push mode: the caller has sent the transaction. */
function transferOf(credential: PaymentCredential, carrier: string): TransferProof | undefined {
  if (!isCharge(credential, "signature")) return undefined;
  const { challenge, payload, quoteId } = credential;
  const signature = demandedText(payload, "signature", `${carrier}: payload.`);
  return {
    method: "transfer",
    txSignature: requireSignature(signature, `${carrier}: payload.signature`),
    quoteId: requireQuoteId(quoteId, `${carrier}: challenge.opaque.quote_id`),
    stated: NOTHING_STATED,
    challenge,
  };
}

/** A transaction signed by the caller, to be sent by the gateway. */
export interface GaslessProof extends Proof {
  readonly method: "gasless";
  /** Its carrier in the caller's terms. */
  readonly carrier: string;
  /** Wire bytes without our signature, which is the first. */
  readonly transaction: Uint8Array;
  /** Undefined: only the memo names the quote. */
  readonly quoteId: string | undefined;
  /** The offer as repeated by an x402 payload. */
  readonly accepted: Partial<X402Terms> | undefined;
  readonly offerToken: string | undefined;
  /** Idempotency key of an x402 payload. */
  readonly paymentId: string | undefined;
}

/** X-Payment with `transaction`, and every x402 payload: other x402 methods go before this one. */
export const gaslessProofs: ProofFormat<GaslessProof> = {
  name: "gasless",
  network: SOLANA,
  recognise(sent) {
    if (sent.carrier === BODY_CARRIER) return undefined;
    if ("credential" in sent) return transactionOf(sent.credential, sent.carrier);
    const { carrier, members } = sent;
    if (carrier !== X_PAYMENT) return fromX402(parseX402Payload(members, carrier), carrier);
    const own = readXPayment(members, "gasless");
    if (own?.form === "x402") return fromX402(own.payload, carrier);
    if (own?.form !== "transaction") return undefined;
    return {
      method: "gasless",
      carrier,
      transaction: own.transaction,
      quoteId: requireQuoteId(own.quoteId, "X-Payment: quote_id"),
      accepted: undefined,
      offerToken: undefined,
      paymentId: undefined,
    };
  },
  isSame(one, other) {
    const [mine, its] = [one, other].map(({ quoteId, paymentId, accepted }) => [
      quoteId,
      paymentId,
      accepted,
    ]);
    return (
      Buffer.compare(one.transaction, other.transaction) === 0 && JSON.stringify(mine) === JSON.stringify(its)
    );
  },
};

/** Pull mode: the gateway sends the transaction. */
function transactionOf(credential: PaymentCredential, carrier: string): GaslessProof | undefined {
  if (!isCharge(credential, "transaction")) return undefined;
  const { challenge, payload, quoteId } = credential;
  return {
    method: "gasless",
    carrier,
    transaction: transactionMember(payload, "transaction", `${carrier}: payload.`),
    quoteId: requireQuoteId(quoteId, `${carrier}: challenge.opaque.quote_id`),
    accepted: undefined,
    offerToken: undefined,
    paymentId: undefined,
    challenge,
  };
}

function fromX402(payload: X402Payload, carrier: string): GaslessProof {
  const { transaction, accepted, offerToken, paymentId } = payload;
  return { method: "gasless", carrier, transaction, quoteId: undefined, accepted, offerToken, paymentId };
}

/**
 * Returns the x402 version of a payment; undefined: not x402, or a version 1 payload that is invalid. Decides
 * how the settlement is reported.
 */
export function x402VersionOf({ xPayment, paymentSignature, metaPayment }: ProofCarriers): 1 | 2 | undefined {
  if (paymentSignature !== undefined || metaPayment !== undefined) return 2;
  if (xPayment === undefined) return undefined;
  try {
    return readXPayment(parseXPayment(xPayment), "gasless")?.form === "x402" ? 1 : undefined;
  } catch {
    return undefined;
  }
}

/** Layout of a transaction with two signatures: their count in one byte, then 64 bytes each. */
const [TWO, MESSAGE] = [2, 1 + 2 * 64];
/** Start of the second key in a legacy message: header, number of keys, first key. Version 0 adds a byte. */
const [SECOND_KEY, KEY] = [3 + 1 + 32, 32];

/**
 * SHA-256 of the message of a transaction with two signatures, without parsing it: the key of relayed
 * transactions.
 * @returns 32 bytes; undefined if the bytes cannot be such a transaction
 */
export function messageHashOf(transaction: Uint8Array): Buffer | undefined {
  if (transaction[0] !== TWO || transaction.length <= MESSAGE) return undefined;
  return hash("sha256", transaction.subarray(MESSAGE), "buffer");
}

/** Returns the payer of a transaction that the relay has signed, base58: its second key. */
export function relayedPayer(signedTransaction: Uint8Array): string {
  const message = signedTransaction.subarray(MESSAGE);
  const start = SECOND_KEY + ((message[0] ?? 0) >> 7);
  return encodeBase58(message.subarray(start, start + KEY));
}
