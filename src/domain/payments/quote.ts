import { hash } from "node:crypto";
import { decodeBase58, encodeBase58 } from "../core/base58.ts";
import type { Clock, Random } from "../core/clock.ts";
import { idOf, uuidOf } from "../core/ids.ts";
import type { MicroUsd } from "../core/money.ts";
import { RecordSeal } from "./record-seal.ts";

/** A price offer for one call. It is not stored: its id contains it, encrypted. */
export interface Quote {
  quoteId: string;
  accountId: string;
  price: MicroUsd;
  /** Milliseconds since the Unix epoch. */
  issuedAt: number;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
  /** Fingerprint of the quoted call, 32 bytes. */
  fingerprint: Buffer;
}

/** A secret that seals quotes. */
export interface SealingKey {
  /** 1..65535. A quote names its version, so that keys can rotate while quotes are open. */
  version: number;
  /** 32 bytes. */
  secret: Buffer;
}

/** The sealing keys of this installation. */
export interface SealingKeys {
  /** The key for new quotes. */
  current(): SealingKey;
  /** Returns undefined for an unknown or retired version. */
  version(version: number): SealingKey | undefined;
}

const FORMAT = 3;
/** Bytes of format and key version, and of the record. */
const [HEADER, RECORD] = [3, 66];
const PREFIX = "qt_";

/**
 * Issues and opens sealed quotes: account, price, times and fingerprint; the key version is authenticated.
 */
export class Quotes {
  readonly #keys: SealingKeys;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ttlMs: number;
  readonly #seals = new WeakMap<Buffer, RecordSeal>();

  constructor(keys: SealingKeys, clock: Clock, random: Random, ttlSeconds: number) {
    this.#keys = keys;
    this.#clock = clock;
    this.#random = random;
    this.#ttlMs = ttlSeconds * 1000;
  }

  /** Issues a quote for the account and the call with that fingerprint. Stores nothing. */
  issue(accountId: string, price: MicroUsd, fingerprint: Buffer): Quote {
    const issuedAt = this.#clock.now();
    const expiresAt = issuedAt + this.#ttlMs;
    const { version, secret } = this.#keys.current();
    const seal = this.#sealOf(secret);
    const sealed = Buffer.allocUnsafe(seal.length);
    sealed[0] = FORMAT;
    sealed.writeUInt16BE(version, 1);
    const record = seal.start;
    sealed.write(uuidOf("acct", accountId) ?? "", record, 16, "hex");
    sealed.writeBigUInt64BE(price, record + 16);
    sealed.writeUIntBE(issuedAt, record + 24, 6);
    sealed.writeUInt32BE(this.#ttlMs, record + 30);
    fingerprint.copy(sealed, record + 34);
    seal.seal(sealed, this.#random);
    const quoteId = PREFIX + encodeBase58(sealed);
    return { quoteId, accountId, price, issuedAt, expiresAt, fingerprint };
  }

  /**
   * Opens a quote id; undefined if it was not sealed by this installation or was modified. Does not check
   * expiry.
   */
  open(quoteId: string): Quote | undefined {
    const record = this.#unseal(quoteId);
    if (!record) return undefined;
    const issuedAt = record.readUIntBE(24, 6);
    return {
      quoteId,
      accountId: idOf("acct", record.subarray(0, 16)),
      price: record.readBigUInt64BE(16),
      issuedAt,
      expiresAt: issuedAt + record.readUInt32BE(30),
      fingerprint: record.subarray(34),
    };
  }

  #unseal(quoteId: string): Buffer | undefined {
    if (!quoteId.startsWith(PREFIX) || quoteId.length > 200) return undefined;
    const sealed = decodeBase58(quoteId.slice(PREFIX.length));
    if (!sealed || sealed.length < HEADER || sealed[0] !== FORMAT) return undefined;
    const key = this.#keys.version(sealed.readUInt16BE(1));
    return key && this.#sealOf(key.secret).open(sealed);
  }

  #sealOf(secret: Buffer): RecordSeal {
    let seal = this.#seals.get(secret);
    if (!seal) {
      seal = new RecordSeal(secret, HEADER, RECORD);
      this.#seals.set(secret, seal);
    }
    return seal;
  }
}

/**
 * Returns the payment step of a quote, `step_` and 32 hex digits. Derived, so that it need not be stored.
 */
export function stepIdOf(quoteId: string): string {
  return `step_${hash("sha256", `step:${quoteId}`).slice(0, 32)}`;
}
