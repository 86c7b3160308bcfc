import { hash } from "node:crypto";

/**
 * Returns the stored form of a key: SHA-256 in hex, the cheapest form per call. Keys have 256 random bits, so
 * a plain hash cannot be reversed, and lookup timing reveals only hashes.
 */
export function hashOf(secret: string): string {
  return hash("sha256", secret, "hex");
}
