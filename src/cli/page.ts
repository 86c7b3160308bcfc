import process from "node:process";
import { InvalidArgumentError, Option } from "commander";
import type { Page } from "../domain/core/page.ts";
import { count } from "./arguments.ts";
import { outputFor } from "./output.ts";

const MAX_LIMIT = 100;

/** Options of every list command. */
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
