import { hash } from "node:crypto";

/** A transaction with two signatures: how many there are, in one byte, and their 64 bytes each. */
const [TWO, MESSAGE] = [2, 1 + 2 * 64];

/**
 * SHA-256 of the message of a transaction that two sign, without a look at what it says: by this relayed transactions are known.
 * @returns 32 bytes; undefined for bytes that can be none
 */
export function messageHashOf(transaction: Uint8Array): Buffer | undefined {
  if (transaction[0] !== TWO || transaction.length <= MESSAGE) return undefined;
  return hash("sha256", transaction.subarray(MESSAGE), "buffer");
}
