import { createPublicKey, verify } from "node:crypto";

/** DER prefix of a public key (RFC 8410). */
export const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** The field prime 2^255 - 19 (RFC 8032, section 5.1), little-endian as in keys. */
const PRIME = Buffer.from(`ed${"ff".repeat(30)}7f`, "hex").reverse();

/**
 * Verifies a signature (RFC 8032, section 5.1.7) as strictly as the network: OpenSSL refuses unreduced S,
 * and keys and R of small order, for which one signature fits many messages.
 */
export function isSignedBy(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([SPKI, key]), format: "der", type: "spki" });
    return verify(null, message, publicKey, signature);
  } catch {
    return false;
  }
}

/**
 * Whether y of a key is below the prime (RFC 8032, section 5.1.3): otherwise two keys would encode the same
 * point.
 */
export function isCanonicalKey(key: Uint8Array): boolean {
  const y = Buffer.from(key).reverse();
  y[0] = (y[0] ?? 0) & 0x7f; // without the sign of x
  return y.compare(PRIME) < 0;
}
