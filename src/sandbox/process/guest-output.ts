import { z } from "zod";
import type { JsonValue } from "../../domain/core/json.ts";
import type { SandboxError } from "../../domain/tools/sandbox.ts";
import { MAX_FRAME_BYTES, MAX_RESULT_BYTES } from "./limits.ts";

/** Bytes of a value as JSON. */
const jsonBytes = (value: JsonValue) => Buffer.byteLength(JSON.stringify(value));

/** How much longer than itself a text may get as JSON, which writes six bytes for a NUL. */
const MAX_ESCAPE_RATIO = 1.5;

/**
 * A text that is cut at so many bytes of UTF-8, counted as it is told: what is no UTF-8 grows when it is replaced. As JSON it is never
 * longer than one and a half times that, so that an answer has its place in a message whatever the code prints.
 */
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

  /** Takes more; false when it was too much. */
  append(bytes: Uint8Array): boolean {
    if (!this.truncated) this.#take(this.#decoder.decode(bytes, { stream: true }));
    return !this.truncated;
  }

  /** The whole of it. */
  text(): string {
    if (!this.truncated) this.#take(this.#decoder.decode());
    return this.#pieces.join("");
  }

  #take(text: string): void {
    if (!this.#count(text)) {
      this.truncated = true;
      text = this.#beginning(text);
    }
    if (text !== "") this.#pieces.push(text);
  }

  /** Counts a text that still has its place. */
  #count(text: string): boolean {
    const [bytes, escaped] = [Buffer.byteLength(text), jsonBytes(text) - 2];
    if (bytes > this.#left || escaped > this.#leftEscaped) return false;
    this.#left -= bytes;
    this.#leftEscaped -= escaped;
    return true;
  }

  /** As much of it as has its place. */
  #beginning(text: string): string {
    let end = 0;
    for (const character of text) {
      if (!this.#count(character)) break;
      end += character.length;
    }
    return text.slice(0, end);
  }
}

/** How a worker says that the code ended. It lies in the guest's reach, so it tells the guest's own answer and nothing else. */
const frameSchema = z.object({
  result: z.unknown(),
  tooLarge: z.boolean(),
  error: z.object({ name: z.string(), value: z.string(), traceback: z.string() }).nullable(),
});

/** What a worker told. */
export interface GuestFrame {
  readonly result: JsonValue;
  /** The result was longer, or deeper, than an answer may be; then it is null. */
  readonly tooLarge: boolean;
  readonly error: SandboxError | null;
}

/** How deep a result may be: what stores it and what sends it go down level by level. */
const MAX_DEPTH = 32;

/** Reads a frame's body. @throws when it is none */
function parseFrame(text: string): GuestFrame {
  const { result, tooLarge, error } = frameSchema.parse(JSON.parse(text));
  const value = wellFormed(result, MAX_DEPTH);
  // Counted as it is told: 1e20 has five letters in Python, and twenty-one here.
  if (value === undefined || jsonBytes(value) > MAX_RESULT_BYTES)
    return { result: null, tooLarge: true, error };
  return { result: value, tooLarge, error };
}

/** The value with every text well-formed; undefined when it is too deep. */
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

/** How a frame begins: with its length in hexadecimal digits. */
const LENGTH_DIGITS = 8;

/** Takes the one frame that begins with NUL and the nonce out of what a worker writes; the rest is the guest's. */
export class FrameReader {
  readonly #marker: Buffer;
  readonly #toGuest: (bytes: Buffer) => void;
  #pending = Buffer.alloc(0);
  /** The eight digits of its length; once they are there, room for the whole. */
  #frame: Buffer | undefined;
  #filled = 0;
  #measured = false;
  #done = false;

  constructor(nonce: string, toGuest: (bytes: Buffer) => void) {
    this.#marker = Buffer.from(`\0${nonce}`);
    this.#toGuest = toGuest;
  }

  /** Takes more of what was written. */
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
    // The last NUL may be the first byte of a marker whose rest is still to come.
    const nul = bytes.lastIndexOf(0);
    const keep = nul >= 0 && bytes.length - nul < this.#marker.length ? nul : bytes.length;
    if (keep > 0) this.#toGuest(bytes.subarray(0, keep));
    this.#pending = Buffer.from(bytes.subarray(keep));
  }

  /** Whether the whole frame is there. */
  get isComplete(): boolean {
    return this.#done;
  }

  /** What the worker told; undefined: it ended without a word, or with one that is no frame. */
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

  /** Copies each byte once: the pieces may be many, and small. */
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
