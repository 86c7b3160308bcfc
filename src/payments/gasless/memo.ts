import { parseMemo } from "../../domain/payments/memo.ts";
import { RELAY_REFUSALS, relayRefused } from "../../domain/payments/relay-refusal.ts";
import type { WireInstruction } from "./wire-transaction.ts";

/** Returns the memo `<prefix>:<quote_id>`. It needs no accounts: the payer signs the whole message. */
export function checkMemo({ data, accounts }: WireInstruction, prefix: string): string {
  if (accounts.length > 0) {
    throw relayRefused(RELAY_REFUSALS.INSTRUCTION_ACCOUNTS, "the memo names accounts and must name none");
  }
  // The format is ASCII: invalid UTF-8 and byte order marks decode to characters that it does not allow.
  const text = data.toString("utf8");
  if (parseMemo(text, prefix)?.form !== "prefix") {
    throw relayRefused(
      RELAY_REFUSALS.MEMO_TEXT,
      `the memo must be exactly ${prefix}:<quote_id>, with the quote_id of the 402 answer`,
    );
  }
  return text;
}
