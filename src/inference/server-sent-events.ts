/** Longest event, in characters: far more than any server puts into one piece of an answer. */
const MAX_EVENT_LENGTH = 4 * 1024 * 1024;

/**
 * Decodes a stream of server-sent events (WHATWG HTML, 9.2.6) to what their `data` fields hold. Comments, other fields and events without
 * data are skipped; lines end with LF, CR LF or CR; a byte order mark is dropped. An event that the stream ends in is taken for whole:
 * some servers forget the last empty line, and whoever reads the data sees whether something is missing.
 */
export class EventDecoder {
  readonly #text = new TextDecoder();
  #rest = "";
  #afterCr = false;
  #data: string[] = [];
  #length = 0;

  /**
   * The data of the events that these bytes complete.
   * @throws RangeError as soon as one event is too long
   */
  *decode(bytes: Uint8Array): Generator<string> {
    yield* this.#take(this.#text.decode(bytes, { stream: true }));
  }

  /** The data of the events that the end of the stream completes. */
  *end(): Generator<string> {
    yield* this.#take(`${this.#text.decode()}\n\n`);
  }

  *#take(text: string): Generator<string> {
    // The LF of a CR LF that fell apart.
    const fresh = this.#afterCr && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") this.#afterCr = text.endsWith("\r");
    // What has no end of a line is only kept: a long line in many pieces is not searched again with each of them.
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
