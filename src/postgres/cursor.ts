import { invalidField } from "../domain/errors.ts";

/** Which list a cursor continues. */
export type ListName = keyof typeof NEWEST;

/**
 * What sorts after every key of a list: UUIDs, of transfers in suspense their signatures, and of failed payments their time in
 * microseconds with the signature.
 */
const NEWEST = {
  receipts: "f".repeat(32),
  runs: "f".repeat(32),
  suspense: "f".repeat(128),
  accounts: "f".repeat(32),
  actions: "f".repeat(32),
  deposits: "f".repeat(32),
  failed: "f".repeat(13 + 128),
};

/** An opaque cursor: the list goes on after (that is, before in time) the row with that key, in hex. */
export function cursorAfter(list: ListName, key: string): string {
  return Buffer.from(`${list}:${key.replaceAll("-", "")}`).toString("base64url");
}

/**
 * The key that a page comes after, in hex; for the first page, one that comes after all.
 * @throws ToolgateError INVALID_REQUEST for a cursor that is not of this list
 */
export function readCursor(list: ListName, cursor: string | undefined): string {
  if (cursor === undefined) return NEWEST[list];
  const key = /^[a-z]+:([0-9a-f]+)$/.exec(Buffer.from(cursor, "base64url").toString())?.[1];
  if (key?.length !== NEWEST[list].length || cursorAfter(list, key) !== cursor) {
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  }
  return key;
}
