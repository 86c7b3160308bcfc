import { gunzipSync, gzipSync } from "node:zlib";

/** Characters of one line: a node's log cuts longer ones at 16 KiB, and not every one of them puts the pieces together again. */
const LINE_CHARACTERS = 8 * 1024;

/** Most bytes of a result before it was packed: all that may be said, each byte escaped in JSON at its longest, and a bit. */
const MAX_RESULT_BYTES = 24 * 1024 * 1024;

/**
 * How a pod tells what came of its job: lines of its log, `tg1.<nonce> <number> <kind> <text>`. Code in the pod does not write to that log;
 * should it ever, it does not know the nonce. Lines are numbered, so that a log that lost some is noticed.
 */
export type Frame = { readonly kind: "begun" } | { readonly kind: "result"; readonly value: unknown };

/** The lines of a result: JSON, packed, in pieces. */
export function* resultLines(nonce: string, firstNumber: number, value: unknown): Generator<string> {
  const packed = gzipSync(JSON.stringify(value)).toString("base64");
  let number = firstNumber;
  for (let from = 0; from < packed.length; from += LINE_CHARACTERS) {
    yield line(nonce, number, "part", packed.slice(from, from + LINE_CHARACTERS));
    number += 1;
  }
  yield line(nonce, number, "end", "-");
}

/** The line that says that the code was handed over. */
export function startedLine(nonce: string): string {
  return line(nonce, 0, "begun", "-");
}

function line(nonce: string, number: number, kind: string, text: string): string {
  return `tg1.${nonce} ${number} ${kind} ${text}\n`;
}

/** Reads one log from its start. Lines that are not of the form are passed over. */
export class FrameReader {
  readonly #prefix: string;
  #rest = "";
  #next = 0;
  #packed = "";

  constructor(nonce: string) {
    this.#prefix = `tg1.${nonce} `;
  }

  /**
   * The frames that are complete with these bytes.
   * @throws Error when lines are missing or a result cannot be read
   */
  *read(bytes: Buffer): Generator<Frame> {
    const lines = (this.#rest + bytes.toString("latin1")).split("\n");
    // Only the beginning of a line that never ends is kept: no line of ours is that long.
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
    if (kind === "begun") return { kind };
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
