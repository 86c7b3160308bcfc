import { formatUsdc, type MicroUsd } from "../../domain/money.ts";

/** One cell: a text, an amount in micro-USD, or nothing. */
export type Cell = string | MicroUsd | undefined;

/** Spreadsheets that are not told otherwise take a file without it for one of their own country's encoding. */
export const BYTE_ORDER_MARK = "\uFEFF";

/**
 * What a spreadsheet takes for the beginning of a formula, at the beginning of a cell or of what it may take for one: where its country
 * separates by semicolons or tabs, and after a line break.
 */
const FORMULA = /(?=[=+\-@\uFF1D\uFF0B\uFF0D\uFF20])(?<=^|[;\t\r\n]\s*)|^(?=[\t\r\n])/g;

/** One line of a file (RFC 4180), with its end. */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(csvCell).join(",")}\r\n`;
}

/**
 * An amount is a number, signed and with six places, and stays one. A text is never a formula: an apostrophe stands before what could
 * begin one.
 */
function csvCell(cell: Cell): string {
  if (cell === undefined) return "";
  if (typeof cell === "bigint") return formatUsdc(cell);
  const safe = cell.toWellFormed().replace(FORMULA, "'");
  return /[",;\t\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
