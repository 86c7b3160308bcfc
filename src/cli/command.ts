import process from "node:process";
import { InvalidArgumentError, Option } from "commander";
import { parseAddress } from "../domain/core/base58.ts";
import { formatUsdc, MAX_MICRO_USD, parseUsdc } from "../domain/core/money.ts";
import { isScope, SCOPES, type Scope } from "../domain/accounts/scope.ts";
import type { Page } from "../domain/core/page.ts";

export function address(text: string): string {
  if (!parseAddress(text)) throw new InvalidArgumentError("must be a wallet address (base58 of 32 bytes)");
  return text;
}

export function count(text: string): number {
  const value = Number(text);
  if (!/^\d{1,8}$/.test(text) || value < 1 || value > 10_000_000)
    throw new InvalidArgumentError("must be a whole number from 1 to 10000000");
  return value;
}

export function countOrNone(text: string): number {
  return text === "0" ? 0 : count(text);
}

/** Returns micro-USD; negative amounts are allowed. */
export function signedUsdc(text: string): bigint {
  const amount = parseUsdc(text.replace(/^-/, ""));
  if (amount === undefined || amount === 0n)
    throw new InvalidArgumentError(
      `must be USDC with at most six decimals, e.g. 5.00, and at most ${formatUsdc(MAX_MICRO_USD)}`,
    );
  return text.startsWith("-") ? -amount : amount;
}

/** Returns micro-USD, more than 0. */
export function usdc(text: string): bigint {
  const amount = signedUsdc(text);
  if (amount < 0n) throw new InvalidArgumentError("must be more than 0");
  return amount;
}

/** Accepts `none` too, which stays as it is: commander takes undefined for an empty text. */
export function orNone<Value>(parse: (text: string) => Value): (text: string) => Value | "none" {
  return (text) => (text === "none" ? text : parse(text));
}

/** Returns what an option of {@link orNone} sets: undefined for `none`. */
export function valueOf<Value>(given: Value | "none"): Value | undefined {
  return given === "none" ? undefined : given;
}

export function percent(text: string): number {
  if (!/^(?:[1-9]\d?|100)$/.test(text))
    throw new InvalidArgumentError("must be a whole number from 1 to 100");
  return Number(text);
}

/** Characters; the same limit as over gRPC. */
const MAX_REASON = 500;

export function reason(text: string): string {
  if (text.trim() === "" || text.length > MAX_REASON)
    throw new InvalidArgumentError(`must be a reason of 1 to ${MAX_REASON} characters`);
  return text;
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the milliseconds of a duration such as `90s`, `15m`, `12h` or `30d`; 0 needs no unit. */
export function duration(text: string): number {
  const [, digits, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (text === "0") return 0;
  if (digits === undefined) throw new InvalidArgumentError("must be a duration, e.g. 90s, 15m, 12h or 30d");
  return Number(digits) * (UNITS[unit] ?? 0);
}

/** ISO 8601 with a UTC offset, or a date alone (midnight UTC). */
const ISO_TIMESTAMP = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** Accepts ISO 8601 or a duration from now. */
export function timestamp(text: string): Date {
  const at = new Date(ISO_TIMESTAMP.test(text) ? text : Number.NaN);
  if (!Number.isNaN(at.getTime())) return at;
  if (/^\d{1,6}[smhd]$/.test(text)) return new Date(Date.now() + duration(text));
  throw new InvalidArgumentError(
    "must be a duration such as 30d or a timestamp such as 2027-01-31T12:00:00Z",
  );
}

export function names(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

export function scopes(text: string): Scope[] {
  return text.split(",").map((part) => {
    const scope = part.trim();
    if (!isScope(scope))
      throw new InvalidArgumentError(`unknown scope ${JSON.stringify(scope)}; use ${SCOPES.join(", ")}`);
    return scope;
  });
}

/** Writes JSON lines with --json, text otherwise. */
interface Output {
  /** Writes one object: a JSON line, or one member per line. */
  record(record: Record<string, unknown>): void;
  /** Writes a list: one JSON line per row, or a table. */
  table(rows: readonly Record<string, unknown>[]): void;
}

export function outputFor(json: boolean): Output {
  return json ? jsonOutput : textOutput;
}

const jsonOutput: Output = {
  record: (record) => write(JSON.stringify(record, asJson)),
  table: (rows) => {
    for (const row of rows) write(JSON.stringify(row, asJson));
  },
};

const textOutput: Output = {
  record: (record) => {
    const width = Math.max(...Object.keys(record).map((name) => name.length));
    for (const [name, value] of Object.entries(record)) write(`${name.padEnd(width)}  ${asText(value)}`);
  },
  table: (rows) => {
    const columns = Object.keys(rows[0] ?? {});
    const cells = [columns, ...rows.map((row) => columns.map((column) => asText(row[column])))];
    const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]?.length ?? 0)));
    for (const line of cells)
      write(
        line
          .map((cell, index) => cell.padEnd(widths[index] ?? 0))
          .join("  ")
          .trimEnd(),
      );
  },
};

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}

function asJson(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

function asText(value: unknown): string {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return "-";
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(asText).join(",");
  if (typeof value === "string") return value;
  return typeof value === "bigint" ? value.toString() : JSON.stringify(value, asJson);
}

/** An error the user can fix. The command line prints the message alone and exits with 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

const MAX_LIMIT = 100;

export interface PageOptions {
  limit: number;
  cursor?: string;
  json?: boolean;
}

/** The `--limit` option. */
export function limitOption(things: string): Option {
  return new Option("--limit <n>", `number of ${things}, 1 to ${MAX_LIMIT}`).argParser(pageSize).default(20);
}

/** Prints a page and its next cursor: with --json as a last line with only next_cursor. */
export function printPage<Item>(
  { items, nextCursor }: Page<Item>,
  how: { json: boolean | undefined; record: (item: Item) => Record<string, unknown>; nothing: string },
): void {
  const { json = false, record, nothing } = how;
  const output = outputFor(json);
  if (json || items.length > 0) output.table(items.map(record));
  else process.stderr.write(`${nothing}\n`);
  if (nextCursor === undefined) return;
  if (json) output.record({ next_cursor: nextCursor });
  else process.stderr.write(`More results: add --cursor ${nextCursor}\n`);
}

function pageSize(text: string): number {
  const value = count(text);
  if (value > MAX_LIMIT) throw new InvalidArgumentError(`must be a whole number from 1 to ${MAX_LIMIT}`);
  return value;
}
