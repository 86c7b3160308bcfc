import { createPublicKey, verify } from "node:crypto";

/** What stands before the 32 bytes of a public key in DER (RFC 8410). */
export const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** The field's prime, 2^255 - 19 (RFC 8032, section 5.1), as keys are written: little-endian. */
const PRIME = Buffer.from(`ed${"ff".repeat(30)}7f`, "hex").reverse();

/**
 * Whether the signature is the key's over the message (RFC 8032, section 5.1.7). As strict as the network: OpenSSL refuses an S that is
 * not reduced, and keys and Rs of small order, with which one signature would hold for many messages.
 */
export function isSignedBy(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([SPKI, key]), format: "der", type: "spki" });
    return verify(null, message, publicKey, signature);
  } catch {
    return false;
  }
}

/** Whether the y in a key is below the prime (RFC 8032, section 5.1.3): another key would stand for the same point otherwise. */
export function isCanonicalKey(key: Uint8Array): boolean {
  const y = Buffer.from(key).reverse();
  y[0] = (y[0] ?? 0) & 0x7f; // without the sign of x
  return y.compare(PRIME) < 0;
}
