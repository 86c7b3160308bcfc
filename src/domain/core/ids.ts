import type { Clock, Random } from "./clock.ts";

/** What an identifier names; the prefix of its text form. No identifier contains a colon, because memos are split at colons. */
export type IdPrefix = "acct" | "key" | "run" | "rcpt" | "ses" | "dep" | "act";

const HEX = /^[0-9a-f]{32}$/;

/** A new identifier: prefix and UUIDv7 (RFC 9562 section 5.7) in hex, so that newer ones sort after older ones. */
export function newId(prefix: IdPrefix, clock: Clock, random: Random): string {
  const bytes = random.bytes(16);
  const time = clock.now();
  bytes[0] = Math.floor(time / 2 ** 40);
  bytes[1] = Math.floor(time / 2 ** 32);
  bytes[2] = Math.floor(time / 2 ** 24);
  bytes[3] = Math.floor(time / 2 ** 16);
  bytes[4] = Math.floor(time / 2 ** 8);
  bytes[5] = time;
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return idOf(prefix, bytes);
}

/** The text form of 16 bytes, e.g. `run_0199…`. */
export function idOf(prefix: IdPrefix, uuid: Uint8Array): string {
  return `${prefix}_${Buffer.from(uuid).toString("hex")}`;
}

/** The UUID (32 hex digits) inside an identifier; undefined when the text is not an identifier of that kind. */
export function uuidOf(prefix: IdPrefix, id: string): string | undefined {
  if (!id.startsWith(`${prefix}_`)) return undefined;
  const hex = id.slice(prefix.length + 1);
  return HEX.test(hex) ? hex : undefined;
}
