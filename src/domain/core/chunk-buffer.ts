/** Pieces that are kept as they came. */
const MOST = 256;

/** Bytes that arrive in pieces. A small piece takes a hundred times its bytes to keep, so that many of them are joined on the way. */
export class ChunkBuffer {
  readonly #joined: Buffer[] = [];
  readonly #latest: Buffer[] = [];
  #length = 0;

  /** Bytes so far. */
  get length(): number {
    return this.#length;
  }

  append(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#latest.push(piece) < MOST) return;
    this.#joined.push(Buffer.concat(this.#latest));
    this.#latest.length = 0;
  }

  /** All of it; without a copy where it came in one piece. */
  concat(): Buffer {
    const all = [...this.#joined, ...this.#latest];
    const [first] = all;
    return first && all.length === 1 ? first : Buffer.concat(all, this.#length);
  }

  /** Keeps nothing of it. */
  clear(): void {
    this.#joined.length = 0;
    this.#latest.length = 0;
  }
}
