import { ToolgateError } from "../../domain/core/errors.ts";

/** Bytes before each message: compressed flag and length (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export const PREFIX = 5;

/** Messages per stream; server reflection sends one per file or symbol. */
export const MAX_MESSAGES = 256;

/** Bytes allocated for a declared length before its bytes arrive. */
const FIRST = 4 * 1024;

/** Reads messages from DATA frames. Copies the bytes: a slice would retain the 64 KiB socket buffer. */
export class MessageReader {
  readonly #limit: number;
  #count = 0;
  #into = Buffer.allocUnsafe(PREFIX);
  #filled = 0;
  /** Bytes of the message with its prefix; undefined before the prefix arrived. */
  #size: number | undefined;

  /** @param limit largest message, bytes */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Returns the complete messages with prefixes. @throws ToolgateError: too large, compressed, too many */
  write(data: Buffer): Buffer[] {
    const messages: Buffer[] = [];
    let at = 0;
    while (at < data.length) {
      const copied = data.copy(this.#into, this.#filled, at);
      at += copied;
      this.#filled += copied;
      if (this.#filled < this.#into.length) continue;
      this.#size ??= this.#declared();
      if (this.#filled < this.#size) this.#grow(this.#size);
      else messages.push(this.#next());
    }
    return messages;
  }

  /** Returns the size that the prefix declares. */
  #declared(): number {
    requireIdentity(this.#into[0] === 0 ? undefined : "compressed");
    const length = this.#into.readUInt32BE(1);
    if (length > this.#limit) throw tooLarge(this.#limit);
    return PREFIX + length;
  }

  /** Grows with what arrives: a declared length alone takes no memory. */
  #grow(size: number): void {
    const filled = this.#into;
    this.#into = Buffer.allocUnsafe(Math.min(size, Math.max(FIRST, 2 * filled.length)));
    filled.copy(this.#into);
  }

  #next(): Buffer {
    this.#count += 1;
    if (this.#count > MAX_MESSAGES) {
      const problem = `more than ${MAX_MESSAGES} messages over one stream; open another`;
      throw new ToolgateError("PAYLOAD_TOO_LARGE", problem);
    }
    const message = this.#into;
    this.#into = Buffer.allocUnsafe(PREFIX);
    this.#filled = 0;
    this.#size = undefined;
    return message;
  }
}

export function tooLarge(limit: number): ToolgateError {
  return new ToolgateError("PAYLOAD_TOO_LARGE", `the message is larger than ${limit} bytes; send less`);
}

/** @throws ToolgateError UNSUPPORTED_MEDIA_TYPE (UNIMPLEMENTED) for compressed messages (compression.md) */
export function requireIdentity(encoding: unknown): void {
  if (encoding === undefined || encoding === "identity") return;
  const problem = "grpc-encoding: must be identity; send messages uncompressed";
  throw new ToolgateError("UNSUPPORTED_MEDIA_TYPE", problem, { rpc: "UNIMPLEMENTED" });
}
