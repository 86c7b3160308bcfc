import { parseSignature } from "./base58.ts";
import { malformedProof } from "./errors.ts";
import { isQuoteId, parseMemo } from "./memo.ts";
import { parseUsdc, type MicroUsd } from "./money.ts";
import { parseXPayment } from "./x-payment.ts";

/** The one network payments are made on (specification 8). */
export const NETWORK = "solana-mainnet";
/** The one asset payments are made in (specification 8). */
export const ASSET = "USDC";

/** A claim that a transaction pays a quote. What it says is compared with quote and chain, and is evidence of nothing. */
export interface Proof {
  /** Transaction signature in base58, 64 bytes, canonical. */
  txSignature: string;
  quoteId: string;
  /** What a body proof says besides; undefined: it does not say. */
  claimed: { amount: MicroUsd | undefined; memo: string | undefined; stepId: string | undefined };
}

/** The body form (specification 2.4). */
export interface BodyProof {
  txRef: string;
  network: string;
  amountUsdc?: string | undefined;
  memo?: string | undefined;
  quoteId?: string | undefined;
  stepId?: string | undefined;
}

/**
 * Reads the proof of a call from where it can be: the X-Payment header, the body, or both when they say the same.
 * @returns undefined when the call carries none
 * @throws ToolgateError INVALID_PAYMENT 400: nothing was looked up, nothing was consumed
 */
export function parseProof(
  header: string | undefined,
  body: BodyProof | undefined,
  memoPrefix: string,
): Proof | undefined {
  const fromHeader = header === undefined ? undefined : parseXPayment(header);
  const fromBody = body && parseBody(body, memoPrefix);
  if (
    fromHeader &&
    fromBody &&
    (fromHeader.txRef !== fromBody.txSignature || fromHeader.quoteId !== fromBody.quoteId)
  ) {
    throw malformedProof("X-Payment and payment_proof name different payments; send one of them");
  }
  if (fromBody) return fromBody;
  if (!fromHeader) return undefined;
  const claimed = { amount: undefined, memo: undefined, stepId: undefined };
  return {
    txSignature: signature(fromHeader.txRef, "X-Payment: tx"),
    quoteId: quoteIdIn(fromHeader.quoteId, "X-Payment: quote_id"),
    claimed,
  };
}

function parseBody(body: BodyProof, memoPrefix: string): Proof {
  if (body.network !== NETWORK) throw malformedProof(`payment_proof.network: must be ${NETWORK}`);
  const memo = body.memo === undefined ? undefined : parseMemo(body.memo, memoPrefix);
  if (body.memo !== undefined && !memo) {
    throw malformedProof(
      `payment_proof.memo: must be <step_id>:<quote_id>:<nonce> or ${memoPrefix}:<quote_id>, as sent on the chain`,
    );
  }
  const quoteId = body.quoteId ?? memo?.quoteId;
  if (quoteId === undefined) throw malformedProof("payment_proof.quote_id: is missing, and no memo names the quote");
  if (memo && memo.quoteId !== quoteId)
    throw malformedProof("payment_proof.memo: names another quote than payment_proof.quote_id");
  if (memo?.form === "step" && body.stepId !== undefined && memo.stepId !== body.stepId) {
    throw malformedProof("payment_proof.memo: names another step than payment_proof.step_id");
  }
  const amount = body.amountUsdc === undefined ? undefined : parseUsdc(body.amountUsdc);
  if (body.amountUsdc !== undefined && amount === undefined) {
    throw malformedProof('payment_proof.amount_usdc: must be decimal USDC with at most six places, e.g. "0.01"');
  }
  const stepId = body.stepId ?? (memo?.form === "step" ? memo.stepId : undefined);
  return {
    txSignature: signature(body.txRef, "payment_proof.tx_ref"),
    quoteId: quoteIdIn(quoteId, "payment_proof.quote_id"),
    claimed: { amount, memo: body.memo, stepId },
  };
}

function quoteIdIn(text: string, field: string): string {
  if (!isQuoteId(text)) throw malformedProof(`${field}: must be the quote_id of a 402 answer, unchanged`);
  return text;
}

function signature(text: string, field: string): string {
  if (!parseSignature(text)) throw malformedProof(`${field}: must be a transaction signature (base58 of 64 bytes)`);
  return text;
}
