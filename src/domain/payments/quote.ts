import { createCipheriv, createDecipheriv, createHmac, hash, timingSafeEqual } from "node:crypto";
import { decodeBase58, encodeBase58 } from "../core/base58.ts";
import { NO_CELL, type Cell, idOf, uuidOf } from "../core/ids.ts";
import type { Clock, Random } from "../core/clock.ts";
import type { MicroUsd } from "../core/money.ts";
import { secretKeyOf } from "../core/secret-key.ts";

/** The account of a quote that any wallet may pay: the payer's account makes the call. */
export const ANY_WALLET = `acct_${"0".repeat(32)}`;

/** A price offer for one call. It is not stored: its id contains it, encrypted. */
export interface Quote {
  quoteId: string;
  /** {@link ANY_WALLET} in a quote for callers without an API key. */
  accountId: string;
  price: MicroUsd;
  /** Milliseconds since the Unix epoch. */
  issuedAt: number;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
  /** Fingerprint of the quoted call, 32 bytes. */
  fingerprint: Buffer;
  /** Version of the sealing key, which the id also names: decoding base58 takes longer than a MAC. */
  keyVersion?: number;
}

/** What the secrets of a quote depend on. */
type SealedId = Pick<Quote, "quoteId" | "keyVersion">;

export interface SealingKey {
  /** 1..65535. A quote names its version, so that keys can rotate while quotes are open. */
  version: number;
  /** 32 bytes. */
  secret: Buffer;
}

export interface SealingKeys {
  current(): SealingKey;
  /** Returns undefined for an unknown or retired version. */
  version(version: number): SealingKey | undefined;
  /**
   * Like {@link version}, for keys that other instances can add: looks up an unknown version.
   * @throws ToolgateError UNAVAILABLE when it cannot be looked up
   */
  find?(version: number): SealingKey | undefined | Promise<SealingKey | undefined>;
}

const FORMAT = 3;
const CIPHER = "aes-256-gcm";
/** The cell is the end of the number that base58 writes: routers read it without decoding the rest. */
const [HEADER, NONCE, RECORD, TAG, CELL] = [3, 12, 66, 16, 2];
const SEALED = HEADER + NONCE + RECORD + TAG + CELL;
const PREFIX = "qt_";

/**
 * Issues and opens sealed quotes: AES-256-GCM over account, price, times and fingerprint; the key version
 * and the cell are authenticated.
 */
export class Quotes {
  readonly #keys: SealingKeys;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ttlMs: number;
  readonly #cell: Cell;

  constructor(keys: SealingKeys, clock: Clock, random: Random, ttlSeconds: number, cell = NO_CELL) {
    this.#keys = keys;
    this.#clock = clock;
    this.#random = random;
    this.#ttlMs = ttlSeconds * 1000;
    this.#cell = cell;
  }

  /** Issues a quote for the account and the call with that fingerprint. Stores nothing. */
  issue(accountId: string, price: MicroUsd, fingerprint: Buffer): Quote {
    const issuedAt = this.#clock.now();
    const expiresAt = issuedAt + this.#ttlMs;
    const record = Buffer.alloc(RECORD);
    record.write(uuidOf("acct", accountId) ?? "", 0, 16, "hex");
    record.writeBigUInt64BE(price, 16);
    record.writeUIntBE(issuedAt, 24, 6);
    record.writeUInt32BE(this.#ttlMs, 30);
    fingerprint.copy(record, 34);
    const key = this.#keys.current();
    const quoteId = PREFIX + encodeBase58(this.#seal(record, key));
    return { quoteId, accountId, price, issuedAt, expiresAt, fingerprint, keyVersion: key.version };
  }

  /**
   * Opens a quote id; undefined if it was not sealed by this installation and cell, or was modified. Does not
   * check expiry.
   */
  open(quoteId: string): Quote | undefined {
    const sealed = this.#ownSealed(quoteId);
    return sealed && this.#open(quoteId, sealed, this.#keys.version(sealed.readUInt16BE(1)));
  }

  /**
   * Like {@link open}, but looks up a key that another instance has just added.
   * @throws ToolgateError UNAVAILABLE when it cannot be looked up
   */
  find(quoteId: string): Quote | undefined | Promise<Quote | undefined> {
    const sealed = this.#ownSealed(quoteId);
    if (!sealed) return undefined;
    const version = sealed.readUInt16BE(1);
    const key = this.#keys.find?.(version) ?? this.#keys.version(version);
    if (key instanceof Promise) return key.then((found) => this.#open(quoteId, sealed, found));
    return this.#open(quoteId, sealed, key);
  }

  #ownSealed(quoteId: string): Buffer | undefined {
    const sealed = sealedOf(quoteId);
    return sealed && !this.#cell.isForeign("quote", sealed.readUInt16BE(SEALED - CELL)) ? sealed : undefined;
  }

  #open(quoteId: string, sealed: Buffer, key: SealingKey | undefined): Quote | undefined {
    const record = key && this.#unseal(sealed, key);
    if (!record) return undefined;
    const issuedAt = record.readUIntBE(24, 6);
    return {
      quoteId,
      accountId: idOf("acct", record.subarray(0, 16)),
      price: record.readBigUInt64BE(16),
      issuedAt,
      expiresAt: issuedAt + record.readUInt32BE(30),
      fingerprint: record.subarray(34),
      keyVersion: key.version,
    };
  }

  /**
   * Returns a secret that only the recipient of a quote knows: its payment shows the quote id to everyone who
   * reads the chain. @param quote issued or opened here
   */
  offerToken(quote: SealedId): string {
    return this.#mac(quote, `offer:${quote.quoteId}`).toString("hex").slice(0, 32);
  }

  /** Whether the token was given out with the quote. Compares in constant time. */
  isOfferToken(quote: SealedId, token: string | undefined): boolean {
    return isSameText(this.offerToken(quote), token);
  }

  /**
   * Returns the id of a challenge for a quote: like {@link offerToken} a secret of its recipient, which also
   * binds the challenge's parameters.
   */
  challengeId(quote: SealedId, parameters: string): string {
    return this.#mac(quote, `challenge:${parameters}`).toString("base64url");
  }

  /** Whether a challenge with these parameters was given out with the quote. Compares in constant time. */
  isChallengeId(quote: SealedId, parameters: string, id: string): boolean {
    return isSameText(this.challengeId(quote, parameters), id);
  }

  /** HMAC-SHA256 with the key that seals the quote. */
  #mac({ quoteId, keyVersion = sealedOf(quoteId)?.readUInt16BE(1) }: SealedId, text: string): Buffer {
    const key = keyVersion === undefined ? undefined : this.#keys.version(keyVersion);
    if (!key) throw new Error("no key seals this quote");
    return createHmac("sha256", secretKeyOf(key.secret)).update(text).digest();
  }

  #seal(record: Buffer, { version, secret }: SealingKey): Buffer {
    const header = Buffer.from([FORMAT, version >> 8, version & 0xff]);
    const nonce = this.#random.bytes(NONCE);
    const cell = Buffer.from([this.#cell.number >> 8, this.#cell.number & 0xff]);
    const named = Buffer.concat([header, cell]);
    const cipher = createCipheriv(CIPHER, secretKeyOf(secret), nonce).setAAD(named);
    return Buffer.concat([header, nonce, cipher.update(record), cipher.final(), cipher.getAuthTag(), cell]);
  }

  #unseal(sealed: Buffer, key: SealingKey): Buffer | undefined {
    const [header, cell] = [sealed.subarray(0, HEADER), sealed.subarray(-CELL)];
    const [nonce, content] = [
      sealed.subarray(HEADER, HEADER + NONCE),
      sealed.subarray(HEADER + NONCE, -CELL),
    ];
    try {
      const decipher = createDecipheriv(CIPHER, secretKeyOf(key.secret), nonce)
        .setAAD(Buffer.concat([header, cell]))
        .setAuthTag(content.subarray(-TAG));
      return Buffer.concat([decipher.update(content.subarray(0, -TAG)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

function isSameText(expected: string, sent = ""): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(sent)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/** Returns the cell that a quote id names, unverified; 0 for any other text. */
export function cellOfQuote(quoteId: string): number {
  return sealedOf(quoteId)?.readUInt16BE(SEALED - CELL) ?? 0;
}

/** Returns the sealed record of a quote id; undefined for any other text. */
function sealedOf(quoteId: string): Buffer | undefined {
  if (!quoteId.startsWith(PREFIX) || quoteId.length > 200) return undefined;
  const sealed = decodeBase58(quoteId.slice(PREFIX.length));
  return sealed?.length === SEALED && sealed[0] === FORMAT ? sealed : undefined;
}

/** Returns the payment step of a quote, `step_` and 32 hex digits. Derived, so that it need not be stored. */
export function stepIdOf(quoteId: string): string {
  return `step_${hash("sha256", `step:${quoteId}`).slice(0, 32)}`;
}
