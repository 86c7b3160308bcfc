import { memoFormats } from "../../domain/payments/memo.ts";
import { displayUsd, MAX_MICRO_USD } from "../../domain/core/money.ts";
import type { Treasury } from "../core/treasury.ts";

/** Why a transaction on the chain is not a payment to the treasury. */
export type RefusalCode =
  | "FAILED_TRANSACTION"
  | "NOT_THE_FIRST_SIGNATURE"
  | "UNSUPPORTED_VERSION"
  | "WRONG_MINT"
  | "WRONG_TOKEN_PROGRAM"
  | "WRONG_DESTINATION"
  | "TREASURY_ACCOUNT_NOT_OPEN"
  | "NOTHING_RECEIVED"
  | "AMOUNT_OUT_OF_RANGE"
  | "UNEXPLAINED_CHANGE"
  | "MEMO_MISSING"
  | "MEMO_NOT_OURS"
  | "MEMO_NOT_ALONE";

/** Refusal of a transaction: the failed check, its meaning and what to do. */
export interface Refusal {
  readonly kind: "refused";
  readonly code: RefusalCode;
  readonly reason: string;
}

const refused = (code: RefusalCode, reason: string): Refusal => ({ kind: "refused", code, reason });

/** @param err TransactionError as returned by the RPC */
export function failedTransaction(err: unknown): Refusal {
  const error = JSON.stringify(err).slice(0, 200);
  return refused(
    "FAILED_TRANSACTION",
    `the transaction failed on the chain (${error}), so nothing was paid; pay the quote with a new ` +
      "transaction",
  );
}

export function notTheFirstSignature(): Refusal {
  return refused("NOT_THE_FIRST_SIGNATURE", "tx_ref is not the transaction's id; send its first signature");
}

export function unsupportedVersion(): Refusal {
  return refused(
    "UNSUPPORTED_VERSION",
    "the transaction's version is not supported; pay with a legacy, version 0 or version 1 transaction",
  );
}

export function wrongMint(mint: string, treasury: Treasury): Refusal {
  return refused(
    "WRONG_MINT",
    `the transfer is of another token (mint ${mint}); pay in USDC (mint ${treasury.mint})`,
  );
}

export function wrongTokenProgram(): Refusal {
  return refused(
    "WRONG_TOKEN_PROGRAM",
    "the transfer is of another token program's token; pay in USDC, which belongs to the SPL Token program",
  );
}

export function wrongDestination(treasury: Treasury): Refusal {
  return refused(
    "WRONG_DESTINATION",
    `the transaction does not pay the treasury; send USDC to the token account ${treasury.tokenAccount}`,
  );
}

export function treasuryAccountNotOpen(): Refusal {
  return refused(
    "TREASURY_ACCOUNT_NOT_OPEN",
    "the treasury's token account was not open before and after the transaction, so what it received " +
      "is unknown; contact the operator",
  );
}

export function nothingReceived(): Refusal {
  return refused(
    "NOTHING_RECEIVED",
    "the treasury's balance did not grow in this transaction; check tx_ref, or pay the quote",
  );
}

export function amountOutOfRange(): Refusal {
  return refused(
    "AMOUNT_OUT_OF_RANGE",
    `the amount is above ${displayUsd(MAX_MICRO_USD)}; contact the operator`,
  );
}

export function unexplainedChange(): Refusal {
  return refused(
    "UNEXPLAINED_CHANGE",
    "the transfers into the treasury do not add up to what it received; pay with plain transfers, and " +
      "contact the operator about this one",
  );
}

export function memoMissing(prefix: string): Refusal {
  return refused(
    "MEMO_MISSING",
    `the transaction has no memo; add one top-level Memo instruction that says ${formats(prefix)}`,
  );
}

export function memoNotOurs(prefix: string): Refusal {
  return refused(
    "MEMO_NOT_OURS",
    `no memo of the transaction has our form; one must say exactly ${formats(prefix)}`,
  );
}

export function memoNotAlone(): Refusal {
  return refused(
    "MEMO_NOT_ALONE",
    "the transaction has more than one memo of ours, and one transaction pays one quote; contact the " +
      "operator about this one",
  );
}

function formats(prefix: string): string {
  const { step, prefix: short } = memoFormats(prefix);
  return `${step} or ${short}`;
}
