import { base58 } from "@scure/base";
import {
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  type Address,
  type CompiledTransactionMessage,
  type CompiledTransactionMessageWithLifetime,
  type Transaction,
} from "@solana/kit";
import { compiledInstructions, type CompiledInstruction } from "./compiled-instruction.ts";

/** A decoded transaction. */
export interface WireTransaction {
  readonly bytes: Uint8Array;
  /** base58 of the first signature: the transaction's name. */
  readonly signature: string;
  readonly signatures: readonly string[];
  readonly message: CompiledTransactionMessage & CompiledTransactionMessageWithLifetime;
  readonly instructions: readonly CompiledInstruction[];
  /** The form LiteSVM takes. */
  readonly kit: Transaction;
}

interface LookupTableUse {
  readonly lookupTableAddress: Address;
  readonly writableIndexes: readonly number[];
  readonly readonlyIndexes: readonly number[];
}

const transactionDecoder = getTransactionDecoder();
const messageDecoder = getCompiledTransactionMessageDecoder();

/**
 * Decodes a legacy, v0 or v1 transaction.
 *
 * @throws Error if the bytes are not a transaction
 */
export function decodeTransaction(bytes: Uint8Array): WireTransaction {
  const kit = transactionDecoder.decode(bytes);
  const message = messageDecoder.decode(kit.messageBytes);
  const signatures = Object.values(kit.signatures).map((signature) =>
    base58.encode(signature === null ? new Uint8Array(64) : Uint8Array.from(signature)),
  );
  const signature = signatures[0];
  if (signature === undefined) throw new Error("a transaction has at least one signature");
  return { bytes, signature, signatures, message, instructions: compiledInstructions(message), kit };
}

/** The address lookup tables a message names; only v0 messages can. */
export function lookupTables(message: CompiledTransactionMessage): readonly LookupTableUse[] {
  return message.version === 0 ? (message.addressTableLookups ?? []) : [];
}
