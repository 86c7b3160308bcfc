import { createHmac, timingSafeEqual } from "node:crypto";
import { decodeBase58, encodeBase58 } from "../core/base58.ts";
import { NO_CELL, type Cell } from "../core/ids.ts";
import type { Clock, Random } from "../core/clock.ts";
import { secretKeyOf } from "../core/secret-key.ts";
import type { SealingKey, SealingKeys } from "../payments/quote.ts";

/** Bytes: key version, time, random, authentication code, cell. */
const [TIME, RANDOM, CODE, CELL, SEALED] = [2, 8, 16, 32, 34];

/** Nonces of sign-ins by wallets. They contain their time and an authentication code, so none is stored. */
export class SealedNonces {
  readonly #keys: SealingKeys;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cell: Cell;

  constructor(keys: SealingKeys, clock: Clock, random: Random, cell = NO_CELL) {
    this.#keys = keys;
    this.#clock = clock;
    this.#random = random;
    this.#cell = cell;
  }

  /** `issuedAt`: ms */
  issue(): { nonce: string; issuedAt: number } {
    const key = this.#keys.current();
    const issuedAt = this.#clock.now();
    const content = Buffer.alloc(CODE);
    content.writeUInt16BE(key.version);
    content.writeUIntBE(issuedAt, TIME, 6);
    content.set(this.#random.bytes(CODE - RANDOM), RANDOM);
    const cell = Buffer.alloc(SEALED - CELL);
    cell.writeUInt16BE(this.#cell.number);
    return { nonce: encodeBase58(Buffer.concat([content, codeOf(key, content, cell), cell])), issuedAt };
  }

  /**
   * Returns when a nonce was issued, ms; undefined if this installation and cell did not issue it.
   * @throws ToolgateError UNAVAILABLE when the key of another instance cannot be looked up
   */
  async open(nonce: string): Promise<number | undefined> {
    const sealed = decodeBase58(nonce);
    if (sealed?.length !== SEALED) return undefined;
    const cell = sealed.subarray(CELL);
    if (this.#cell.isForeign("sign_in", cell.readUInt16BE())) return undefined;
    const version = sealed.readUInt16BE();
    const key = (await this.#keys.find?.(version)) ?? this.#keys.version(version);
    const content = sealed.subarray(0, CODE);
    if (!key || !timingSafeEqual(codeOf(key, content, cell), sealed.subarray(CODE, CELL))) return undefined;
    return content.readUIntBE(TIME, 6);
  }
}

/** The prefix separates it from everything else that the key authenticates. */
function codeOf({ secret }: SealingKey, content: Buffer, cell: Buffer): Buffer {
  return createHmac("sha256", secretKeyOf(secret))
    .update("sign-in:")
    .update(content)
    .update(cell)
    .digest()
    .subarray(0, CELL - CODE);
}
