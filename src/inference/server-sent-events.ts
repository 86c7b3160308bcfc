/** Characters. */
const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/**
 * Decodes server-sent events (WHATWG HTML, 9.2.6) to their `data`. An event cut by the end of the stream
 * counts as complete: some servers omit the last empty line, and incomplete JSON is detected later.
 */
export class EventDecoder {
  readonly #text = new TextDecoder();
  #rest = "";
  #afterCr = false;
  #data: string[] = [];
  #length = 0;

  /**
   * Yields the data of events completed by these bytes.
   * @throws RangeError if an event is too long
   */
  *decode(bytes: Uint8Array): Generator<string> {
    yield* this.#take(this.#text.decode(bytes, { stream: true }));
  }

  /** Yields the data of events completed by the end of the stream. */
  *end(): Generator<string> {
    yield* this.#take(`${this.#text.decode()}\n\n`);
  }

  *#take(text: string): Generator<string> {
    // The LF of a CR LF split between chunks.
    const fresh = this.#afterCr && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#afterCr = text.endsWith("\r");
    // An unfinished line is only appended: searching it again with each chunk would be quadratic.
    const lines = /[\r\n]/.test(fresh) ? (this.#rest + fresh).split(/\r\n|\n|\r/) : [this.#rest + fresh];
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#line(line);
      else if (this.#data.length > 0) yield this.#event();
    }
    if (this.#length + this.#rest.length > MAX_EVENT_LENGTH)
      throw new RangeError("an event of the stream is too long");
  }

  #line(line: string): void {
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field !== "data") return;
    this.#data.push(value ?? "");
    this.#length += line.length;
  }

  #event(): string {
    const data = this.#data.join("\n");
    this.#data = [];
    this.#length = 0;
    return data;
  }
}
