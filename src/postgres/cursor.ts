import { invalidField } from "../domain/errors.ts";

/** Which list a cursor continues. */
export type ListName = "receipts" | "runs";

/** Sorts after every UUID that is made. */
const NEWEST = "f".repeat(32);

/** An opaque cursor: the list goes on after (that is, before in time) the row with that uuid. */
export function cursorAfter(list: ListName, uuid: string): string {
  return Buffer.from(`${list}:${uuid.replaceAll("-", "")}`).toString("base64url");
}

/**
 * The uuid that a page comes after; for the first page, one that comes after all.
 * @throws ToolgateError INVALID_REQUEST for a cursor that is not of this list
 */
export function readCursor(list: ListName, cursor: string | undefined): string {
  if (cursor === undefined) return NEWEST;
  const uuid = /^([a-z]+):([0-9a-f]{32})$/.exec(Buffer.from(cursor, "base64url").toString())?.[2];
  if (uuid === undefined || cursorAfter(list, uuid) !== cursor) {
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  }
  return uuid;
}
