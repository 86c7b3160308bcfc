import { hash } from "node:crypto";

/**
 * What is stored of a key, and what it is looked up by. A key has 256 random bits, so a plain hash cannot be reversed. Nor does the
 * time of a look-up help to guess: an index or a map compares hashes, and who could choose the hash of a guess could break SHA-256.
 * @returns SHA-256 in hex, the form that costs a call the least
 */
export function hashOf(secret: string): string {
  return hash("sha256", secret, "hex");
}
