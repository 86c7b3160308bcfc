import { parseMemo } from "../../domain/memo.ts";
import { RELAY_REFUSALS, relayRefused } from "../../domain/relay-refusal.ts";
import type { WireInstruction } from "./wire-transaction.ts";

/** A byte order mark stays, so that the text read is the text written. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The memo's text, `<prefix>:<quote_id>`. It names no account: the payer signs the whole message, memo included. */
export function checkMemo({ data, accounts }: WireInstruction, prefix: string): string {
  if (accounts.length > 0) {
    throw relayRefused(RELAY_REFUSALS.INSTRUCTION_ACCOUNTS, "the memo names accounts and must name none");
  }
  const text = textOf(data);
  if (text === undefined || parseMemo(text, prefix)?.form !== "prefix") {
    throw relayRefused(
      RELAY_REFUSALS.MEMO_TEXT,
      `the memo must be exactly ${prefix}:<quote_id>, with the quote_id of the 402 answer`,
    );
  }
  return text;
}

function textOf(data: Buffer): string | undefined {
  try {
    return utf8.decode(data);
  } catch {
    return undefined;
  }
}
