import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { SPKI } from "../../domain/core/ed25519.ts";

/** DER prefix of a private key (RFC 8410). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

export class SigningKey {
  /** 32 bytes. */
  readonly publicKey: Buffer;
  readonly #key: KeyObject;

  /** @param seed 32 bytes */
  constructor(seed: Uint8Array) {
    this.#key = createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: "der", type: "pkcs8" });
    this.publicKey = createPublicKey(this.#key).export({ format: "der", type: "spki" }).subarray(SPKI.length);
  }

  /** Signs deterministically (RFC 8032). @returns 64 bytes */
  sign(message: Uint8Array): Buffer {
    return sign(null, message, this.#key);
  }
}
