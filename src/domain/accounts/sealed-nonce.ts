import { createHmac, timingSafeEqual } from "node:crypto";
import { decodeBase58, encodeBase58 } from "../core/base58.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { SealingKey, SealingKeys } from "../payments/quote.ts";

/** Bytes: key version, time, random; and all with the authentication code. */
const [TIME, RANDOM, CONTENT, SEALED] = [2, 8, 16, 32];

/** Nonces of sign-ins by wallets. They contain their time and an authentication code, so none is stored. */
export class SealedNonces {
  readonly #keys: SealingKeys;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(keys: SealingKeys, clock: Clock, random: Random) {
    this.#keys = keys;
    this.#clock = clock;
    this.#random = random;
  }

  /** `issuedAt`: ms */
  issue(): { nonce: string; issuedAt: number } {
    const key = this.#keys.current();
    const issuedAt = this.#clock.now();
    const content = Buffer.alloc(CONTENT);
    content.writeUInt16BE(key.version);
    content.writeUIntBE(issuedAt, TIME, 6);
    content.set(this.#random.bytes(CONTENT - RANDOM), RANDOM);
    return { nonce: encodeBase58(Buffer.concat([content, codeOf(key, content)])), issuedAt };
  }

  /**
   * Returns when a nonce was issued, ms; undefined if this installation did not issue it.
   * @throws ToolgateError UNAVAILABLE when the key of another instance cannot be looked up
   */
  async open(nonce: string): Promise<number | undefined> {
    const sealed = decodeBase58(nonce);
    if (sealed?.length !== SEALED) return undefined;
    const version = sealed.readUInt16BE();
    const key = (await this.#keys.find?.(version)) ?? this.#keys.version(version);
    const content = sealed.subarray(0, CONTENT);
    if (!key || !timingSafeEqual(codeOf(key, content), sealed.subarray(CONTENT))) return undefined;
    return content.readUIntBE(TIME, 6);
  }
}

/** The prefix separates it from everything else that the key authenticates. */
function codeOf({ secret }: SealingKey, content: Buffer): Buffer {
  return createHmac("sha256", secret)
    .update("sign-in:")
    .update(content)
    .digest()
    .subarray(0, SEALED - CONTENT);
}
