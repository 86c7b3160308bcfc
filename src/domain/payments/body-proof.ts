import { parseSignature } from "../core/base58.ts";
import { malformedProof } from "../core/errors.ts";
import { isQuoteId, parseMemo, type Memo } from "./memo.ts";
import { parseUsdc, type MicroUsd } from "../core/money.ts";
import type { BodyProof, Proof } from "./proof.ts";

/** The only network (specification 8). */
export const NETWORK = "solana-mainnet";
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

/**
 * Parses `payment_proof` of a transfer on {@link NETWORK}.
 * @throws ToolgateError INVALID_PAYMENT 400
 */
export function parseBodyProof(body: BodyProof, memoPrefix: string): TransferProof {
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

/**
 * @throws ToolgateError INVALID_PAYMENT 400 naming the field unless the text has the format of a quote id
 */
export function requireQuoteId(text: string, field: string): string {
  if (text.startsWith("dep_")) throw malformedProof(`${field}: ${DEPOSIT_PAYS_NO_CALL}`);
  if (!isQuoteId(text)) throw malformedProof(`${field}: must be the quote_id of a 402 answer, unchanged`);
  return text;
}

/** @throws ToolgateError INVALID_PAYMENT 400 naming the field unless the text is a transaction signature */
export function requireSignature(text: string, field: string): string {
  if (!parseSignature(text))
    throw malformedProof(`${field}: must be a transaction signature (base58 of 64 bytes)`);
  return text;
}
