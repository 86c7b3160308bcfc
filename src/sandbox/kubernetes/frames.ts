import { gunzipSync, gzipSync } from "node:zlib";

/** Nodes split log lines at 16 KiB, and not every log driver joins them again. */
const LINE_CHARACTERS = 8 * 1024;

/** Before compression: maximum output with every byte escaped as JSON. */
const MAX_RESULT_BYTES = 24 * 1024 * 1024;

/** A pod's log: lines `tg1.<nonce> <number> <kind> <text>`. Code does not know the nonce. */
export type Frame = { readonly kind: "started" } | { readonly kind: "result"; readonly value: unknown };

/** Lines of a result: JSON, gzipped, Base64, split. */
export function* resultLines(nonce: string, firstNumber: number, value: unknown): Generator<string> {
  const packed = gzipSync(JSON.stringify(value)).toString("base64");
  let number = firstNumber;
  for (let from = 0; from < packed.length; from += LINE_CHARACTERS) {
    yield line(nonce, number, "part", packed.slice(from, from + LINE_CHARACTERS));
    number += 1;
  }
  yield line(nonce, number, "end", "-");
}

export function startedLine(nonce: string): string {
  return line(nonce, 0, "started", "-");
}

function line(nonce: string, number: number, kind: string, text: string): string {
  return `tg1.${nonce} ${number} ${kind} ${text}\n`;
}

/** Parses a log from its start. Ignores other lines. */
export class FrameReader {
  readonly #prefix: string;
  #rest = "";
  #next = 0;
  #packed = "";

  constructor(nonce: string) {
    this.#prefix = `tg1.${nonce} `;
  }

  /** Yields the frames completed by these bytes. @throws Error if lines are missing or malformed */
  *read(bytes: Buffer): Generator<Frame> {
    const lines = (this.#rest + bytes.toString("latin1")).split("\n");
    // Bounds the memory for a line that never ends; valid lines are shorter.
    this.#rest = (lines.pop() ?? "").slice(0, 2 * LINE_CHARACTERS);
    for (const text of lines) {
      const frame = text.startsWith(this.#prefix) ? this.#take(text.slice(this.#prefix.length)) : undefined;
      if (frame !== undefined) yield frame;
    }
  }

  #take(text: string): Frame | undefined {
    const [number, kind, piece = ""] = text.trimEnd().split(" ");
    if (Number(number) !== this.#next) throw new Error(`line ${this.#next} of the result is missing`);
    this.#next += 1;
    if (kind === "started") return { kind };
    if (kind === "end") return { kind: "result", value: unpacked(this.#packed) };
    if (kind === "part") this.#packed += piece;
    return undefined;
  }
}

function unpacked(packed: string): unknown {
  return JSON.parse(
    gunzipSync(Buffer.from(packed, "base64"), { maxOutputLength: MAX_RESULT_BYTES }).toString("utf8"),
  );
}
