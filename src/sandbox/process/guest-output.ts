import { z } from "zod";
import type { JsonValue } from "../../domain/core/json.ts";
import type { SandboxError } from "../../domain/tools/sandbox.ts";
import { MAX_FRAME_BYTES, MAX_RESULT_BYTES } from "./limits.ts";

const jsonBytes = (value: JsonValue) => Buffer.byteLength(JSON.stringify(value));

/** Limit of a text's JSON size relative to its UTF-8 size. JSON writes a NUL as six bytes. */
const MAX_ESCAPE_RATIO = 1.5;

/** Text limited in bytes of decoded UTF-8, as invalid bytes grow, and in its size as JSON. */
export class BoundedText {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  readonly #pieces: string[] = [];
  #left: number;
  #leftEscaped: number;
  truncated = false;

  constructor(mostBytes: number) {
    this.#left = mostBytes;
    this.#leftEscaped = Math.floor(mostBytes * MAX_ESCAPE_RATIO);
  }

  /** Appends bytes. @returns false once the limit is exceeded */
  append(bytes: Uint8Array): boolean {
    if (!this.truncated) this.#take(this.#decoder.decode(bytes, { stream: true }));
    return !this.truncated;
  }

  text(): string {
    if (!this.truncated) this.#take(this.#decoder.decode());
    return this.#pieces.join("");
  }

  #take(text: string): void {
    if (!this.#count(text)) {
      this.truncated = true;
      text = this.#prefix(text);
    }
    if (text !== "") this.#pieces.push(text);
  }

  /** Counts a text if it fits. */
  #count(text: string): boolean {
    const [bytes, escaped] = [Buffer.byteLength(text), jsonBytes(text) - 2];
    if (bytes > this.#left || escaped > this.#leftEscaped) return false;
    this.#left -= bytes;
    this.#leftEscaped -= escaped;
    return true;
  }

  /** Returns the longest prefix that fits. */
  #prefix(text: string): string {
    let end = 0;
    for (const character of text) {
      if (!this.#count(character)) break;
      end += character.length;
    }
    return text.slice(0, end);
  }
}

/** The worker's final message. Guest code can forge it, so it carries only the guest's own result. */
const frameSchema = z.object({
  result: z.unknown(),
  tooLarge: z.boolean(),
  error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
});

export interface GuestFrame {
  readonly result: JsonValue;
  /** The result exceeded the size or depth limit; `result` is then null. */
  readonly tooLarge: boolean;
  readonly error: SandboxError | null;
}

/** Storage and serialisation recurse. */
const MAX_DEPTH = 32;

/** @throws Error if the frame is malformed */
function parseFrame(text: string): GuestFrame {
  const { result, tooLarge, error } = frameSchema.parse(JSON.parse(text));
  const value = wellFormed(result, MAX_DEPTH);
  // Measured as serialised here: Python writes 1e20 with four characters, JSON.stringify with 21.
  if (value === undefined || jsonBytes(value) > MAX_RESULT_BYTES)
    return { result: null, tooLarge: true, error };
  return { result: value, tooLarge, error };
}

/** Replaces malformed text; returns undefined if the value nests too deeply. */
function wellFormed(value: unknown, depth: number): JsonValue | undefined {
  if (depth < 0) return undefined;
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => wellFormed(item, depth - 1));
    return items.every((item) => item !== undefined) ? items : undefined;
  }
  const members: [string, JsonValue][] = [];
  for (const [name, member] of Object.entries(value ?? {})) {
    const formed: JsonValue | undefined = wellFormed(member, depth - 1);
    if (formed === undefined) return undefined;
    members.push([name.toWellFormed(), formed]);
  }
  return Object.fromEntries(members);
}

/** Hexadecimal digits of the length at the start of a frame. */
const LENGTH_DIGITS = 8;

/** Extracts the worker's frame, marked by NUL and the nonce, from its output. The rest is guest output. */
export class FrameReader {
  readonly #marker: Buffer;
  readonly #toGuest: (bytes: Buffer) => void;
  #pending = Buffer.alloc(0);
  /** The length digits; once complete, a buffer for the whole frame. */
  #frame: Buffer | undefined;
  #filled = 0;
  #measured = false;
  #done = false;

  constructor(nonce: string, toGuest: (bytes: Buffer) => void) {
    this.#marker = Buffer.from(`\0${nonce}`);
    this.#toGuest = toGuest;
  }

  add(chunk: Buffer): void {
    if (this.#done) return this.#toGuest(chunk);
    if (this.#frame !== undefined) return this.#addToFrame(chunk, this.#frame);
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    const at = bytes.indexOf(this.#marker);
    if (at >= 0) {
      this.#pending = Buffer.alloc(0);
      if (at > 0) this.#toGuest(bytes.subarray(0, at));
      this.#frame = Buffer.alloc(LENGTH_DIGITS);
      return this.#addToFrame(bytes.subarray(at + this.#marker.length), this.#frame);
    }
    // The last NUL may start a marker that is still incomplete.
    const nul = bytes.lastIndexOf(0);
    const keep = nul >= 0 && bytes.length - nul < this.#marker.length ? nul : bytes.length;
    if (keep > 0) this.#toGuest(bytes.subarray(0, keep));
    this.#pending = Buffer.from(bytes.subarray(keep));
  }

  get isComplete(): boolean {
    return this.#done;
  }

  /** Returns the frame; undefined if it is missing or malformed. */
  end(): GuestFrame | undefined {
    if (this.#pending.length > 0) this.#toGuest(this.#pending);
    this.#pending = Buffer.alloc(0);
    if (this.#frame === undefined) return undefined;
    try {
      return parseFrame(this.#frame.subarray(LENGTH_DIGITS, this.#filled).toString("utf8"));
    } catch {
      return undefined;
    }
  }

  /** Copies each byte once: chunks may be many and small. */
  #addToFrame(chunk: Buffer, frame: Buffer): void {
    const copied = chunk.copy(frame, this.#filled);
    this.#filled += copied;
    if (this.#filled < frame.length) return;
    const rest = chunk.subarray(copied);
    if (this.#measured) {
      this.#done = true;
      if (rest.length > 0) this.#toGuest(rest);
      return;
    }
    const length = LENGTH_DIGITS + Number.parseInt(frame.toString("latin1"), 16);
    if (!(length >= LENGTH_DIGITS && length <= MAX_FRAME_BYTES)) {
      this.#done = true;
      this.#frame = undefined;
      return this.#toGuest(Buffer.concat([frame, rest]));
    }
    this.#measured = true;
    this.#frame = Buffer.alloc(length);
    frame.copy(this.#frame);
    this.#addToFrame(rest, this.#frame);
  }
}
