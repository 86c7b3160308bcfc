import { createCipheriv, createDecipheriv, createHmac } from "node:crypto";
import type { Random } from "../core/clock.ts";
import { secretKeyOf } from "../core/secret-key.ts";
import type { SealingKey, SealingKeys } from "../payments/quote.ts";

const CIPHER = "aes-256-gcm";
const [NONCE, TAG] = [12, 16];

/** What is sealed: keys of different purposes are independent. */
export type SealPurpose = "request-log" | "webhook";

export interface SealedBody {
  readonly version: number;
  readonly sealed: Buffer;
}

/**
 * Seals texts of accounts: AES-256-GCM under a key of the account, derived from the installation's secret. A
 * sealed text opens only in the row that it was sealed for.
 */
export class SealedBodies {
  readonly #keys: SealingKeys;
  readonly #random: Random;
  readonly #purpose: SealPurpose;

  constructor(keys: SealingKeys, random: Random, purpose: SealPurpose) {
    this.#keys = keys;
    this.#random = random;
    this.#purpose = purpose;
  }

  /** The version that seals now. */
  get version(): number {
    return this.#keys.current().version;
  }

  seal(accountId: string, rowId: string, text: string): SealedBody {
    const key = this.#keys.current();
    const nonce = this.#random.bytes(NONCE);
    const cipher = createCipheriv(CIPHER, this.#keyOf(key, accountId), nonce).setAAD(Buffer.from(rowId));
    const sealed = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
    return { version: key.version, sealed };
  }

  /** Returns undefined when the secret was retired, or the text belongs to another row. */
  async open(accountId: string, rowId: string, { version, sealed }: SealedBody): Promise<string | undefined> {
    const key = (await this.#keys.find?.(version)) ?? this.#keys.version(version);
    if (!key || sealed.length < NONCE + TAG) return undefined;
    const decipher = createDecipheriv(CIPHER, this.#keyOf(key, accountId), sealed.subarray(0, NONCE))
      .setAAD(Buffer.from(rowId))
      .setAuthTag(sealed.subarray(-TAG));
    try {
      const text = decipher.update(sealed.subarray(NONCE, -TAG));
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return undefined;
    }
  }

  /** The prefix separates it from everything else that the secret seals. */
  #keyOf({ secret }: SealingKey, accountId: string): Buffer {
    return createHmac("sha256", secretKeyOf(secret)).update(`${this.#purpose}:`).update(accountId).digest();
  }
}
