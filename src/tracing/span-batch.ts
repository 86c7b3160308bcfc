/** Bytes of a new batch, and of one UTF-16 code unit in UTF-8 at most. */
const [FIRST_BYTES, UNIT_BYTES] = [32_768, 3];

const COMMA = 0x2c;

/** Encoded spans of one export. They are kept as bytes, which cost the garbage collector nothing. */
export class SpanBatch {
  spans = 0;
  #bytes = Buffer.allocUnsafe(FIRST_BYTES);
  #length = 0;

  /** Adds a span in JSON. */
  add(json: string): void {
    const needed = this.#length + 1 + json.length * UNIT_BYTES;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(2 * needed);
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    if (this.spans++ > 0) this.#bytes[this.#length++] = COMMA;
    this.#length += this.#bytes.write(json, this.#length);
  }

  /** Returns the spans between two texts. */
  bytesBetween(before: string, after: string): Buffer {
    return Buffer.concat([Buffer.from(before), this.#bytes.subarray(0, this.#length), Buffer.from(after)]);
  }
}
