import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { invalidField } from "../domain/errors.ts";
import type { MicroUsd } from "../domain/money.ts";
import type { SealingKey, SealingKeys } from "../domain/quote.ts";

/** Where a page of entries begins, and from what its balances are counted. */
export interface StatementPosition {
  /** The page's entries have smaller numbers. */
  before: bigint;
  /** An entry, or 0, below which no entry is ever added. */
  anchor: bigint;
  /** All entries up to and with the anchor. */
  balance: MicroUsd;
}

const [VERSION, PLACE, MAC] = [2, 24, 16];

/** Writes a place down so that only its own account can come back with it, and nobody can change the balance in it. */
export function sealCursor(keys: SealingKeys, account: string, place: StatementPosition): string {
  const key = keys.current();
  const text = Buffer.alloc(VERSION + PLACE);
  text.writeUInt16BE(key.version, 0);
  text.writeBigInt64BE(place.before, 2);
  text.writeBigInt64BE(place.anchor, 10);
  text.writeBigInt64BE(place.balance, 18);
  return Buffer.concat([text, macOf(key, account, text)]).toString("base64url");
}

/** @throws ToolgateError INVALID_REQUEST for a cursor that was not sealed for this account */
export function openCursor(keys: SealingKeys, account: string, cursor: string): StatementPosition {
  const bytes = Buffer.from(cursor, "base64url");
  const text = bytes.subarray(0, VERSION + PLACE);
  const key = bytes.length === VERSION + PLACE + MAC ? keys.version(bytes.readUInt16BE(0)) : undefined;
  const genuine =
    key !== undefined &&
    bytes.toString("base64url") === cursor &&
    timingSafeEqual(bytes.subarray(VERSION + PLACE), macOf(key, account, text));
  if (!genuine)
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  return {
    before: text.readBigInt64BE(2),
    anchor: text.readBigInt64BE(10),
    balance: text.readBigInt64BE(18),
  };
}

/** With a key of its own, as the secret seals quotes. */
function macOf({ secret }: SealingKey, account: string, text: Buffer): Buffer {
  const own = hash("sha256", Buffer.concat([Buffer.from("statement cursor"), secret]), "buffer");
  return createHmac("sha256", own).update(account.replaceAll("-", "")).update(text).digest().subarray(0, MAC);
}
