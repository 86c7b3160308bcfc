import { parseMemo } from "../../domain/payments/memo.ts";
import type { AccountKeys } from "./account-keys.ts";
import { MEMO_V1_PROGRAM, MEMO_V2_PROGRAM } from "../core/addresses.ts";
import { instructionData } from "./instruction-data.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import type { TransactionJson } from "./transaction-json.ts";

/** Our memos are shorter in base58. Longer ones are not decoded: the cost is quadratic in the length. */
const LONGEST_MEMO_BASE58 = 768;

const MEMO_PROGRAMS: ReadonlySet<string> = new Set([MEMO_V1_PROGRAM, MEMO_V2_PROGRAM]);

/** Keeps a byte order mark, so the text equals the one written. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The one memo that names a quote. */
export interface PaymentMemo {
  readonly kind: "memo";
  readonly text: string;
}

/**
 * Finds our memo among the top-level instructions; inner ones do not count, since the payer may not have seen
 * them.
 * Foreign memos are ignored; two of ours are refused, since one transfer could pay two quotes.
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
