import { cellOfId } from "../core/ids.ts";
import { cellOfQuote } from "./quote.ts";

/** The memo of a payment of a quote (specification 2.4); both forms are accepted everywhere. */
export type Memo =
  | { form: "step"; stepId: string; quoteId: string; nonce: string }
  | { form: "prefix"; quoteId: string };

/** The memo of a deposit. It pays no call. */
export interface DepositMemo {
  form: "deposit";
  depositId: string;
}

const PART = /^[\x21-\x39\x3b-\x7e]{1,128}$/;
const QUOTE_ID = /^qt_[1-9A-HJ-NP-Za-km-z]{1,197}$/;
const DEPOSIT_ID = /^dep_[0-9a-f]{32}$/;
const STEP_ID = /^step_[0-9a-f]{32}$/;

/** Whether a text has the format of a quote id. Only opening it proves that it is one. */
export function isQuoteId(text: string): boolean {
  return QUOTE_ID.test(text);
}

/** Parses a memo; undefined if not in our format. @param prefix MEMO_PREFIX */
export function parseMemo(text: string, prefix: string): Memo | DepositMemo | undefined {
  const parts = text.split(":");
  const [first = "", second = "", third = ""] = parts;
  if (parts.length === 2) {
    if (first !== prefix) return undefined;
    if (DEPOSIT_ID.test(second)) return { form: "deposit", depositId: second };
    return QUOTE_ID.test(second) ? { form: "prefix", quoteId: second } : undefined;
  }
  if (parts.length !== 3 || !STEP_ID.test(first) || !QUOTE_ID.test(second) || !PART.test(third))
    return undefined;
  return { form: "step", stepId: first, quoteId: second, nonce: third };
}

export function depositMemo(depositId: string, prefix: string): string {
  return `${prefix}:${depositId}`;
}

/** The memo formats of quotes for `memo_format` (specification 2.3). */
export function memoFormats(prefix: string): Record<Memo["form"], string> {
  return { step: "<step_id>:<quote_id>:<nonce>", prefix: `${prefix}:{quote_id}` };
}

/** Returns the other cell whose quote or deposit a transfer's memos name, unverified. @param own our cell */
export function otherCellIn(memos: string, own: number): number | undefined {
  const [, depositId, quoteId] = /(dep_[0-9a-f]{32})|(qt_[1-9A-HJ-NP-Za-km-z]+)/.exec(memos) ?? [];
  // Without cells the end of an identifier is random.
  const deposited = depositId === undefined || own === 0 ? 0 : cellOfId("dep", depositId);
  const cell = quoteId === undefined ? deposited : cellOfQuote(quoteId);
  return cell === 0 || cell === own ? undefined : cell;
}
