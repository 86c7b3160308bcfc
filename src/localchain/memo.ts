import { MEMO_PROGRAM, MEMO_V1_PROGRAM } from "./addresses.ts";
import type { TransactionRecord } from "./transaction-record.ts";

/**
 * The `memo` member of `getSignaturesForAddress`: every top-level memo with its length in bytes, joined by
 * `; `. Calls between programs do not count, just as with a validator.
 */
export function memoSummary(record: TransactionRecord): string | null {
  const memos = record.transaction.instructions.flatMap(({ programIndex, data }) => {
    const program = record.keys.all[programIndex];
    return program === MEMO_PROGRAM || program === MEMO_V1_PROGRAM
      ? [`[${data.length}] ${new TextDecoder().decode(data)}`]
      : [];
  });
  return memos.length === 0 ? null : memos.join("; ");
}
