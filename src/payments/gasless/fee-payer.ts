import { z } from "zod";
import { createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { parsedJson } from "../../domain/core/json.ts";
import { SPKI } from "../../domain/core/ed25519.ts";

const keyFile = z.array(z.int().min(0).max(255)).length(64);

/**
 * Parses the fee payer's key file: a JSON array of 64 numbers, secret and public half, as `solana-keygen`
 * writes it.
 * @param text content of FEE_PAYER_KEYPAIR
 * @throws TypeError without any content of the file
 */
export function readFeePayer(text: string): SigningKey {
  const bytes = keyFile.safeParse(parsedJson(text));
  if (!bytes.success)
    throw new TypeError("FEE_PAYER_KEYPAIR: the file must hold a JSON array of 64 numbers from 0 to 255");
  const secret = Buffer.from(bytes.data);
  const key = new SigningKey(secret.subarray(0, 32));
  if (!key.publicKey.equals(secret.subarray(32))) {
    throw new TypeError(
      "FEE_PAYER_KEYPAIR: the last 32 numbers of the file are not the public key of the first 32",
    );
  }
  return key;
}

/** DER prefix of a private key (RFC 8410). */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

class SigningKey {
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
