/** Number of chunks kept unmerged. */
const MOST = 256;

/**
 * Collects bytes that arrive in chunks, merging small chunks: each costs a hundred times its size to keep.
 */
export class ChunkBuffer {
  readonly #joined: Buffer[] = [];
  readonly #latest: Buffer[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  append(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#latest.push(piece) < MOST) return;
    this.#joined.push(Buffer.concat(this.#latest));
    this.#latest.length = 0;
  }

  /** Returns all bytes; a single chunk is not copied. */
  concat(): Buffer {
    const all = [...this.#joined, ...this.#latest];
    const [first] = all;
    return first && all.length === 1 ? first : Buffer.concat(all, this.#length);
  }

  clear(): void {
    this.#joined.length = 0;
    this.#latest.length = 0;
  }
}
