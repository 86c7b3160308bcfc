import { hash } from "node:crypto";

/** Layout of a transaction with two signatures: their count in one byte, then 64 bytes each. */
const [TWO, MESSAGE] = [2, 1 + 2 * 64];

/**
 * SHA-256 of the message of a transaction with two signatures, without parsing it: the key of relayed
 * transactions.
 * @returns 32 bytes; undefined if the bytes cannot be such a transaction
 */
export function messageHashOf(transaction: Uint8Array): Buffer | undefined {
  if (transaction[0] !== TWO || transaction.length <= MESSAGE) return undefined;
  return hash("sha256", transaction.subarray(MESSAGE), "buffer");
}
