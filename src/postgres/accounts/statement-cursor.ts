import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { invalidField } from "../../domain/core/errors.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import type { SealingKey, SealingKeys } from "../../domain/payments/quote.ts";

/** Start of a page of entries, and the base of its balances. */
export interface StatementPosition {
  /** A uuid; entries of the page have smaller ones. */
  before: string;
  /** An entry, or the smallest uuid, that can get no more predecessors. */
  anchor: string;
  /** Sum of all entries up to and including the anchor, micro-USD. */
  balance: MicroUsd;
}

const [VERSION, POSITION, MAC] = [2, 40, 16];

/** Encodes a position with a MAC, bound to the account, so that clients cannot forge the balance. */
export function sealCursor(keys: SealingKeys, account: string, position: StatementPosition): string {
  const key = keys.current();
  const text = Buffer.alloc(VERSION + POSITION);
  text.writeUInt16BE(key.version, 0);
  text.set(uuidBytes(position.before), 2);
  text.set(uuidBytes(position.anchor), 18);
  text.writeBigInt64BE(position.balance, 34);
  return Buffer.concat([text, macOf(key, account, text)]).toString("base64url");
}

/** @throws ToolgateError INVALID_REQUEST for a cursor that was not sealed for this account */
export function openCursor(keys: SealingKeys, account: string, cursor: string): StatementPosition {
  const bytes = Buffer.from(cursor, "base64url");
  const text = bytes.subarray(0, VERSION + POSITION);
  const key = bytes.length === VERSION + POSITION + MAC ? keys.version(bytes.readUInt16BE(0)) : undefined;
  const genuine =
    key !== undefined &&
    bytes.toString("base64url") === cursor &&
    timingSafeEqual(bytes.subarray(VERSION + POSITION), macOf(key, account, text));
  if (!genuine)
    throw invalidField("cursor", "is not one of this list; send next_cursor of the page before, unchanged");
  return {
    before: uuidText(text.subarray(2, 18)),
    anchor: uuidText(text.subarray(18, 34)),
    balance: text.readBigInt64BE(34),
  };
}

function uuidBytes(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll("-", ""), "hex");
}

/** As PostgreSQL writes it, so that texts compare as ids do. */
function uuidText(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Derived key, as the secret itself seals quotes. */
function macOf({ secret }: SealingKey, account: string, text: Buffer): Buffer {
  const derived = hash("sha256", Buffer.concat([Buffer.from("statement cursor"), secret]), "buffer");
  return createHmac("sha256", derived)
    .update(account.replaceAll("-", ""))
    .update(text)
    .digest()
    .subarray(0, MAC);
}
