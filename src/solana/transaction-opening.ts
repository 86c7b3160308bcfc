import { MalformedAnswer } from "./rpc-failure.ts";
import { transactionSchema, type TransactionJson, type TransactionMeta } from "./transaction-json.ts";

/** A `getTransaction` result that is about the transaction asked for. */
export interface OpenedTransaction {
  readonly json: TransactionJson;
  readonly meta: TransactionMeta;
}

/**
 * Opens a `getTransaction` result (`encoding: "json"`).
 * @param txSignature the signature that was asked for
 * @returns undefined when that is one of the transaction's signatures, but not the first: some indexers find a transaction by any of
 *   them, but only the first is its identity
 * @throws ZodError or MalformedAnswer when the answer is incomplete or about another transaction
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

/** When the transaction's block was made. @throws MalformedAnswer where the node does not know it */
export function blockTimeOf({ blockTime }: TransactionJson): Date {
  if (blockTime === null) throw new MalformedAnswer("blockTime is not known");
  return new Date(blockTime * 1_000);
}
