import { parseMemo } from "../../domain/payments/memo.ts";
import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import type { WireInstruction } from "./wire-transaction.ts";

/** The memo's text, `<prefix>:<quote_id>`. It names no account: the payer signs the whole message, memo included. */
export function checkMemo({ data, accounts }: WireInstruction, prefix: string): string {
  if (accounts.length > 0) {
    throw relayRefused(RELAY_REFUSALS.INSTRUCTION_ACCOUNTS, "the memo names accounts and must name none");
  }
  // The form is ASCII: bytes that are no UTF-8, and a byte order mark, are read as something that has no place in it.
  const text = data.toString("utf8");
  if (parseMemo(text, prefix)?.form !== "prefix") {
    throw relayRefused(
      RELAY_REFUSALS.MEMO_TEXT,
      `the memo must be exactly ${prefix}:<quote_id>, with the quote_id of the 402 answer`,
    );
  }
  return text;
}
