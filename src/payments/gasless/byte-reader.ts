import { RELAY_REFUSALS, unreadableTransaction } from "../../domain/payments/relay-refusal.ts";
import type { ToolgateError } from "../../domain/core/errors.ts";

/** Reads a transaction and rejects bytes that another parser could read differently. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Number of bytes read. */
  get position(): number {
    return this.#at;
  }

  get atEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  byte(): number {
    return this.take(1).readUInt8();
  }

  /** Returns the next byte without consuming it; undefined at the end. */
  peek(): number | undefined {
    return this.#bytes[this.#at];
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw malformed("it ends too early");
    const taken = this.#bytes.subarray(this.#at, this.#at + length);
    this.#at += length;
    return taken;
  }

  /**
   * Reads a compact-u16: seven bits per byte, least significant first, at most three bytes. Like the chain,
   * rejects forms that are longer than needed: a message has one encoding only.
   */
  compactU16(): number {
    let value = 0;
    for (let index = 0; index < 3; index++) {
      const byte = this.byte();
      if (index > 0 && byte === 0) throw malformed("a length is not written in its shortest form");
      value |= (byte & 0x7f) << (7 * index);
      if (byte < 0x80) return value;
    }
    throw malformed("a length takes more than three bytes");
  }
}

export function malformed(problem: string): ToolgateError {
  return unreadableTransaction(
    RELAY_REFUSALS.TRANSACTION_MALFORMED,
    `these bytes are no Solana transaction (${problem}); send the signed transaction as the wallet ` +
      "serialized it, unchanged",
  );
}
