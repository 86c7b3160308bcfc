import { formatUsdc, type MicroUsd } from "../../domain/core/money.ts";

/** A cell: text, an amount in micro-USD, or empty. */
export type Cell = string | MicroUsd | undefined;

/** Without it, spreadsheets assume a local encoding instead of UTF-8. */
export const BYTE_ORDER_MARK = "\uFEFF";

/** Where a spreadsheet may see a formula: start of a cell, after a semicolon, tab or line break. */
const FORMULA = /(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=^|[;\t\r\n]\s*)|^(?=[\t\r\n])/g;

/** Returns one line with CRLF (RFC 4180). */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/** Amounts stay numbers with six decimals. Texts that could start a formula get an apostrophe. */
function csvCell(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell === "bigint") return formatUsdc(cell);
  const safe = cell.toWellFormed().replace(FORMULA, "'");
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
