import { invalidField } from "../../domain/core/errors.ts";

/** The list that a cursor belongs to. */
export type ListName = keyof typeof NEWEST;

/**
 * Sorts after every key of its list: a UUID, a signature (suspense), a number (config), or microseconds and a
 * signature (failed payments).
 */
const NEWEST = {
  receipts: "f".repeat(32),
  runs: "f".repeat(32),
  requests: "f".repeat(32),
  suspense: "f".repeat(128),
  accounts: "f".repeat(32),
  actions: "f".repeat(32),
  attempts: "f".repeat(32),
  deposits: "f".repeat(32),
  config: "f".repeat(8),
  failed: "f".repeat(13 + 128),
};

/** Returns an opaque cursor for the rows after (older than) the row with this hex key. */
export function cursorAfter(list: ListName, key: string): string {
  return Buffer.from(`${list}:${key.replaceAll("-", "")}`).toString("base64url");
}

/**
 * Returns the hex key to continue after; without a cursor, one that sorts after every key.
 * @throws ToolgateError INVALID_REQUEST for a cursor of another list
 */
export function readCursor(list: ListName, cursor: string | undefined): string {
  if (cursor === undefined) return NEWEST[list];
  const key = /^[a-z]+:([0-9a-f]+)$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
  if (key?.length !== NEWEST[list].length || cursorAfter(list, key) !== cursor) {
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  }
  return key;
}
