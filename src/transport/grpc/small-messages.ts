import type { MessageReader } from "./call-internals.ts";

/** Bytes before each message: compressed flag and length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
const PREFIX = 5;

/** Messages per stream without a key; server reflection sends one per file or symbol. */
export const MAX_MESSAGES = 256;

/**
 * Reads messages of calls without a key. Copies the bytes: a slice of one byte would retain the 64 KiB socket
 * buffer.
 */
export class SmallMessages implements MessageReader {
  readonly #limit: number;
  #count = 0;
  #into = Buffer.allocUnsafe(PREFIX);
  #filled = 0;
  #sized = false;

  /** @param limit largest message, bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** @throws Error for a message that is too large, or too many messages */
  write(data: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    let at = 0;
    while (at < data.length) {
      const copied = data.copy(this.#into, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (!this.#sized && this.#filled === PREFIX) this.#size();
      if (!this.#sized || this.#filled < this.#into.length) continue;
      messages.push(this.#into);
      this.#next();
    }
    return messages;
  }

  /** Allocates the message that the prefix declares. */
  #size(): void {
    const length = this.#into.readUInt32BE(1);
    if (length > this.#limit) throw new Error(`the message is larger than ${this.#limit} bytes; send less`);
    const prefix = this.#into;
    this.#into = Buffer.allocUnsafe(PREFIX + length);
    prefix.copy(this.#into);
    this.#sized = true;
  }

  #next(): void {
    this.#count += 1;
    if (this.#count > MAX_MESSAGES)
      throw new Error(`more than ${MAX_MESSAGES} messages over one stream; open another`);
    this.#into = Buffer.allocUnsafe(PREFIX);
    this.#filled = 0;
    this.#sized = false;
  }
}
