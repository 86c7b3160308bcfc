import { ToolgateError } from "../../domain/core/errors.ts";

/** Bytes of all large bodies under way on an instance, and of those of one account. */
const MAX_BYTES = 160 * 1024 * 1024;
const MAX_BYTES_OF_ACCOUNT = 40 * 1024 * 1024;

/** Bounds the memory of large bodies: each takes its share before it is read, and until its answer ends. */
export class LargeBodies {
  #bytes = 0;
  readonly #ofAccounts = new Map<string, number>();

  /** @returns a function that gives the bytes back @throws ToolgateError UNAVAILABLE */
  take(account: string, bytes: number): () => void {
    const own = this.#ofAccounts.get(account) ?? 0;
    if (this.#bytes + bytes > MAX_BYTES || (own > 0 && own + bytes > MAX_BYTES_OF_ACCOUNT))
      throw new ToolgateError("UNAVAILABLE", "too many large bodies are under way; nothing was charged", {
        retryAfterSeconds: 1,
      });
    this.#bytes += bytes;
    this.#ofAccounts.set(account, own + bytes);
    return () => {
      this.#bytes -= bytes;
      const rest = (this.#ofAccounts.get(account) ?? 0) - bytes;
      if (rest > 0) this.#ofAccounts.set(account, rest);
      else this.#ofAccounts.delete(account);
    };
  }
}
