import { createHmac, timingSafeEqual } from "node:crypto";
import { decodeBase58, encodeBase58 } from "../core/base58.ts";
import type { Random } from "../core/clock.ts";
import { secretKeyOf } from "../core/secret-key.ts";

/** Prefix of every API key (specification 5). */
export const KEY_PREFIX = "sk-agent-";

/** Prefix of access tokens of OAuth, as long as {@link KEY_PREFIX}. */
export const TOKEN_PREFIX = "tg-oauth-";

/** Complete format of a key, for secret scanners and validators. */
export const KEY_PATTERN = /^sk-agent-[2-4][1-9A-HJ-NP-Za-km-z]{49}$/;

export const KEY_LENGTH = KEY_PREFIX.length + 50;

/** Characters of a key kept for display; at least 131 random bits stay secret. */
export const SHOWN_LENGTH = KEY_PREFIX.length + 5;

/**
 * Byte layout: format, random, secret version, cell, HMAC. The leading format byte makes all texts equally
 * long.
 */
const FORMAT = 1;
const [RANDOM, MAC] = [20, 12];
const VERSION = 1 + RANDOM;
const CELL = VERSION + 2;
const SIGNED = CELL + 2;
const LENGTH = SIGNED + MAC;

export interface KeySecret {
  readonly version: number;
  readonly secret: Buffer;
}

/** A well-formed API key or access token whose signature is not verified yet. */
export interface ParsedKey {
  /** Version of the secret that signed it. */
  readonly version: number;
  readonly cell: number;
  readonly signed: Buffer;
  readonly mac: Buffer;
}

export function newApiKey(
  { version, secret }: KeySecret,
  random: Random,
  cell = 0,
  prefix: typeof KEY_PREFIX | typeof TOKEN_PREFIX = KEY_PREFIX,
): string {
  const key = Buffer.alloc(LENGTH);
  key[0] = FORMAT;
  key.set(random.bytes(RANDOM), 1);
  key.writeUInt16BE(version, VERSION);
  key.writeUInt16BE(cell, CELL);
  macOf(key.subarray(0, SIGNED), secret).copy(key, SIGNED);
  return prefix + encodeBase58(key);
}

/** Returns whether a text has the prefix of an API key or an access token. */
export function isKeyLike(text: string): boolean {
  return text.startsWith(KEY_PREFIX) || text.startsWith(TOKEN_PREFIX);
}

/** Parses an API key or an access token; undefined for any other format. */
export function parseApiKey(text: string): ParsedKey | undefined {
  if (text.length !== KEY_LENGTH || !isKeyLike(text)) return undefined;
  const key = decodeBase58(text.slice(KEY_PREFIX.length));
  if (key?.length !== LENGTH || key[0] !== FORMAT) return undefined;
  return {
    version: key.readUInt16BE(VERSION),
    cell: key.readUInt16BE(CELL),
    signed: key.subarray(0, SIGNED),
    mac: key.subarray(SIGNED),
  };
}

/** Verifies the key's HMAC in constant time. */
export function isSignedWith({ signed, mac }: ParsedKey, secret: Buffer): boolean {
  return timingSafeEqual(macOf(signed, secret), mac);
}

function macOf(signed: Buffer, secret: Buffer): Buffer {
  return createHmac("sha256", secretKeyOf(secret)).update(signed).digest().subarray(0, MAC);
}
