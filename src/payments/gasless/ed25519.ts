import { createPrivateKey, createPublicKey, sign, verify, type KeyObject } from "node:crypto";

/** What stands before the 32 bytes of a key in DER (RFC 8410). */
const SPKI = Buffer.from("302a300506032b6570032100", "hex");
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/**
 * Encodings of the points of small order, sign bit cleared. With such a key, or such an R, one signature holds for many messages;
 * the network refuses both, and so must whoever signs besides.
 */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/** Whether the signature is the key's over the message (RFC 8032, section 5.1.7; S must be reduced, small orders are refused). */
export function isSignedBy(key: Buffer, message: Buffer, signature: Buffer): boolean {
  if (hasSmallOrder(key) || hasSmallOrder(signature.subarray(0, 32))) return false;
  try {
    return verify(
      null,
      message,
      createPublicKey({ key: Buffer.concat([SPKI, key]), format: "der", type: "spki" }),
      signature,
    );
  } catch {
    return false;
  }
}

function hasSmallOrder(point: Buffer): boolean {
  const bare = Buffer.from(point);
  bare.writeUInt8(bare.readUInt8(31) & 0x7f, 31);
  return SMALL_ORDER.has(bare.toString("hex"));
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
