import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";

/** What stands before the 32 bytes of a key in DER (RFC 8410). */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Whether the signature is the key's over the message (RFC 8032, section 5.1.7). As strict as the network: OpenSSL refuses an S that is
 * not reduced, and keys and Rs of small order, with which one signature would hold for many messages.
 */
export function isSignedBy(key: Buffer, message: Buffer, signature: Buffer): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.concat([SPKI, key]), format: "der", type: "spki" });
    return verify(null, message, publicKey, signature);
  } catch {
    return false;
  }
}

/** A key that signs. */
export class SigningKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  readonly #key: KeyObject;

  /** @param seed 32 bytes */
  constructor(seed: Uint8Array) {
    this.#key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
    this.publicKey = createPublicKey(this.#key).export({ format: "der", type: "spki" }).subarray(SPKI.length);
  }

  /** Signs, the same message always with the same signature (RFC 8032). @returns 64 bytes */
  sign(message: Uint8Array): Buffer {
    return sign(null, message, this.#key);
  }
}
