import { hash } from "node:crypto";
import { encodeBase58 } from "../core/base58.ts";

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
