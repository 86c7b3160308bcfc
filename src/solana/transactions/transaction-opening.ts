import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { transactionSchema, type TransactionJson, type TransactionMeta } from "./transaction-json.ts";

/** A `getTransaction` result for the requested transaction. */
export interface OpenedTransaction {
  readonly json: TransactionJson;
  readonly meta: TransactionMeta;
}

/**
 * Parses a `getTransaction` result (`encoding: "json"`).
 * @param txSignature the requested signature
 * @returns undefined if it is not the first signature: only the first identifies a transaction, though some
 * indexers find any
 * @throws ZodError or MalformedAnswer for an incomplete result or another transaction
 */
export function openTransaction(txSignature: string, result: unknown): OpenedTransaction | undefined {
  const json = transactionSchema.parse(result);
  const { signatures } = json.transaction;
  if (signatures[0] !== txSignature) {
    if (signatures.includes(txSignature)) return undefined;
    throw new MalformedAnswer("the answer is about another transaction");
  }
  const { meta } = json;
  if (!meta) throw new MalformedAnswer("the transaction's meta is missing");
  return { json, meta };
}

/** Returns the block time. @throws MalformedAnswer if the node has none */
export function blockTimeOf({ blockTime }: TransactionJson): Date {
  if (blockTime === null) throw new MalformedAnswer("blockTime is not known");
  return new Date(blockTime * 1_000);
}
