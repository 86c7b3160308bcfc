import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startedLine, FrameReader, resultLines } from "../../../src/sandbox/kubernetes/frames.ts";

const NONCE = "a".repeat(32);
/** Too long for one line even when compressed. */
const VALUE = Array.from({ length: 500 }, (_, at) =>
  createHash("sha256").update(String(at)).digest("base64"),
);

const lines = (value: unknown = VALUE) => [startedLine(NONCE), ...resultLines(NONCE, 1, value)];
const read = (text: string, size = text.length) => {
  const reader = new FrameReader(NONCE);
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => [
    ...reader.read(bytes.subarray(at * size, (at + 1) * size)),
  ]).flat();
};

describe("log frames of a pod", () => {
  it("reads a result regardless of chunk boundaries and foreign lines", () => {
    expect(lines().length).toBeGreaterThan(4);
    const text = lines().join("{level:50} something else\r\n\n");
    for (const size of [1, 7, 4_096, text.length]) {
      expect(read(text, size)).toEqual([{ kind: "started" }, { kind: "result", value: VALUE }]);
    }
  });

  it("ignores lines without the nonce", () => {
    expect(read([...resultLines("b".repeat(32), 0, { forged: true })].join(""))).toEqual([]);
    expect(read(`x${startedLine(NONCE)}`)).toEqual([]);
  });

  it("rejects missing and repeated lines", () => {
    const [start = "", first = "", ...rest] = lines();
    expect(() => read([start, ...rest].join(""))).toThrow("line 1 of the result is missing");
    expect(() => read([start, first, first, ...rest].join(""))).toThrow("line 2 of the result is missing");
  });

  it("returns no result without its last line", () => {
    expect(read(lines().slice(0, -1).join(""))).toEqual([{ kind: "started" }]);
  });

  it("limits the decompressed size of a result", () => {
    expect(() => read(lines("x".repeat(30 * 1024 * 1024)).join(""))).toThrow(/larger than/);
  });

  it("discards a line that never ends", () => {
    const reader = new FrameReader(NONCE);
    for (let at = 0; at < 20; at += 1) expect([...reader.read(Buffer.alloc(1 << 20, 120))]).toEqual([]);
    expect([...reader.read(Buffer.from(`\n${startedLine(NONCE)}`))]).toEqual([{ kind: "started" }]);
  });
});
