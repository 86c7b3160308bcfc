import { randomBytes, randomInt } from "node:crypto";
import { newApiKey } from "../../src/domain/accounts/api-key.ts";
import { systemRandom } from "../../src/system.ts";

const ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/** An API key of the right form that no deployment has made. */
export function forgedKey(): string {
  const version = { version: 1, secret: randomBytes(32) };
  return newApiKey(version, systemRandom);
}

/** A key with one character mistyped. */
export function mistyped(key: string): string {
  const at = key.length - 1 - randomInt(40);
  const other = ALPHABET[(ALPHABET.indexOf(key[at] ?? "") + 1) % ALPHABET.length] ?? "";
  return key.slice(0, at) + other + key.slice(at + 1);
}
