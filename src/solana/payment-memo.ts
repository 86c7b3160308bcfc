import { parseMemo } from "../domain/memo.ts";
import type { AccountKeys } from "./account-keys.ts";
import { MEMO_V1_PROGRAM, MEMO_V2_PROGRAM } from "./addresses.ts";
import { instructionData } from "./instruction-data.ts";
import * as refusal from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import type { TransactionJson } from "./transaction-json.ts";

/** No memo of ours is longer in base58; longer ones need no decoding, whose cost grows with the square of the length. */
const LONGEST_MEMO_BASE58 = 768;

/** A byte order mark stays, so that the text read is the text written. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The one memo that names a quote. */
export interface PaymentMemo {
  readonly kind: "memo";
  readonly text: string;
}

/**
 * Finds the one memo of ours among the top-level instructions. Memos that other programs write on the payer's behalf do not count:
 * the payer may not have seen them. Foreign memos beside ours do no harm; two of ours would let one transfer pay two quotes.
 */
export function paymentMemo(
  { transaction: { message } }: TransactionJson,
  keys: AccountKeys,
  prefix: string,
): PaymentMemo | Refusal {
  let written = 0;
  const ours: string[] = [];
  for (const { programIdIndex, data } of message.instructions) {
    const program = keys.at(programIdIndex);
    if (program !== MEMO_V1_PROGRAM && program !== MEMO_V2_PROGRAM) continue;
    written += 1;
    const text = data.length > LONGEST_MEMO_BASE58 ? undefined : decode(instructionData(data));
    if (text !== undefined && parseMemo(text, prefix)) ours.push(text);
  }
  const [text] = ours;
  if (text === undefined) return written === 0 ? refusal.memoMissing(prefix) : refusal.memoNotOurs(prefix);
  return ours.length > 1 ? refusal.memoNotAlone() : { kind: "memo", text };
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}
