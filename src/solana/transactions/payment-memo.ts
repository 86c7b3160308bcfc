import { parseMemo } from "../../domain/payments/memo.ts";
import { MEMO_V1_PROGRAM, MEMO_V2_PROGRAM } from "../core/treasury.ts";
import { MalformedAnswer } from "../rpc/rpc-failure.ts";
import { instructionData, transactionSchema } from "./transaction-json.ts";
import type { AccountKeys, TransactionJson, TransactionMeta } from "./transaction-json.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";

/** Our memos are shorter in base58. Longer ones are not decoded: the cost is quadratic in the length. */
const LONGEST_MEMO_BASE58 = 768;

const MEMO_PROGRAMS: ReadonlySet<string> = new Set([MEMO_V1_PROGRAM, MEMO_V2_PROGRAM]);

/** Keeps a byte order mark, so the text equals the one written. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The one memo that names a quote. */
interface PaymentMemo {
  readonly kind: "memo";
  readonly text: string;
}

/**
 * Finds our memo among the top-level instructions; inner ones do not count, since the payer may not have seen
 * them. Foreign memos are ignored; two of ours are refused, since one transfer could pay two quotes.
 */
export function paymentMemo(json: TransactionJson, keys: AccountKeys, prefix: string): PaymentMemo | Refusal {
  const written = memoTexts(json, keys);
  const [text, ...others] = written.filter((each) => each !== undefined && parseMemo(each, prefix));
  if (text === undefined)
    return written.length === 0 ? refusal.memoMissing(prefix) : refusal.memoNotOurs(prefix);
  return others.length > 0 ? refusal.memoNotAlone() : { kind: "memo", text };
}

/** Top-level memos in order; undefined for one that is not UTF-8 or is longer than any of ours. */
export function memoTexts(
  { transaction: { message } }: TransactionJson,
  keys: AccountKeys,
): (string | undefined)[] {
  return message.instructions
    .filter(({ programIdIndex }) => MEMO_PROGRAMS.has(keys.at(programIdIndex)))
    .map(({ data }) => (data.length > LONGEST_MEMO_BASE58 ? undefined : decode(instructionData(data))));
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** A `getTransaction` result for the requested transaction. */
interface OpenedTransaction {
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
