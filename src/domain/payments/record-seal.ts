import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hash,
  hkdfSync,
  timingSafeEqual,
  type KeyObject,
} from "node:crypto";
import type { Random } from "../core/clock.ts";

/** Bytes of a nonce, a cipher block and a tag. */
const [NONCE, BLOCK, TAG] = [12, 16, 16];
/** Nonces drawn together: a cipher object for each record costs more than its encryption. */
const DRAWN = 64;
/** Block length of SHA-256, bytes. */
const HASH_BLOCK = 64;

/**
 * Seals records of one length as header, nonce, ciphertext, tag: AES-256 in counter mode (NIST SP 800-38A
 * section 6.5), then HMAC-SHA-256 over all before the tag, cut to 128 bits. AES-GCM takes five times as long,
 * because node:crypto makes an object for each record.
 */
export class RecordSeal {
  /** Length of a sealed record, bytes. */
  readonly length: number;
  /** Where the record starts. */
  readonly start: number;
  readonly #header: number;
  readonly #encryption: KeyObject;
  /** The two blocks that HMAC hashes (RFC 2104). */
  readonly #inner: Buffer;
  readonly #outer: Buffer;
  /** Unused counter blocks and their key stream. */
  #counters = Buffer.alloc(0);
  #stream = Buffer.alloc(0);
  #used = 0;

  /** @param header, record lengths in bytes */
  constructor(secret: Buffer, header: number, record: number) {
    this.#header = header;
    this.start = header + NONCE;
    this.length = this.start + record + TAG;
    this.#encryption = createSecretKey(derivedKey(secret, "encryption"));
    const authentication = derivedKey(secret, "authentication");
    this.#inner = hmacBlock(authentication, 0x36, this.length - TAG);
    this.#outer = hmacBlock(authentication, 0x5c, 32);
  }

  /** Seals in place. @param sealed with header and record; nonce and tag are written */
  seal(sealed: Buffer, random: Random): void {
    if (this.#used === this.#stream.length) this.#draw(random);
    const { start, length } = this;
    this.#counters.copy(sealed, this.#header, this.#used, this.#used + NONCE);
    for (let at = start; at < length - TAG; at++)
      sealed[at] = (sealed[at] ?? 0) ^ (this.#stream[this.#used + at - start] ?? 0);
    this.#used += this.#streamLength();
    sealed.write(this.#tag(sealed), length - TAG, TAG, "latin1");
  }

  /** Returns the record; undefined unless sealed with this secret and unchanged. */
  open(sealed: Buffer): Buffer | undefined {
    if (sealed.length !== this.length) return undefined;
    const tag = Buffer.from(this.#tag(sealed), "latin1").subarray(0, TAG);
    if (!timingSafeEqual(tag, sealed.subarray(-TAG))) return undefined;
    const counter = Buffer.alloc(BLOCK);
    sealed.copy(counter, 0, this.#header, this.start);
    const decipher = createDecipheriv("aes-256-ctr", this.#encryption, counter);
    return decipher.update(sealed.subarray(this.start, -TAG));
  }

  /** HMAC of all but the tag, as latin1: two hashes in one call each cost a third of an Hmac object. */
  #tag(sealed: Buffer): string {
    sealed.copy(this.#inner, HASH_BLOCK, 0, this.length - TAG);
    this.#outer.write(hash("sha256", this.#inner, "binary"), HASH_BLOCK, "latin1");
    return hash("sha256", this.#outer, "binary");
  }

  /** Key stream of counter mode: the cipher over blocks of nonce and block number. */
  #draw(random: Random): void {
    const length = this.#streamLength();
    const counters = Buffer.alloc(DRAWN * length);
    for (let at = 0; at < counters.length; at += BLOCK) {
      if (at % length === 0) counters.set(random.bytes(NONCE), at);
      else counters.copy(counters, at, at - BLOCK, at - BLOCK + NONCE);
      counters[at + BLOCK - 1] = (at % length) / BLOCK;
    }
    const cipher = createCipheriv("aes-256-ecb", this.#encryption, null).setAutoPadding(false);
    [this.#counters, this.#stream, this.#used] = [counters, cipher.update(counters), 0];
  }

  #streamLength(): number {
    return Math.ceil((this.length - this.start - TAG) / BLOCK) * BLOCK;
  }
}

/** HKDF (RFC 5869), 32 bytes. */
function derivedKey(secret: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", `toolgate quote ${purpose}`, 32));
}

function hmacBlock(key: Buffer, pad: number, message: number): Buffer {
  const block = Buffer.alloc(HASH_BLOCK + message);
  for (let at = 0; at < HASH_BLOCK; at++) block[at] = (key[at] ?? 0) ^ pad;
  return block;
}
