import { describe, expect, it } from "vitest";
import { EventDecoder } from "../../src/inference/read-response.ts";

function decoded(...pieces: readonly Uint8Array[]): string[] {
  const decoder = new EventDecoder();
  return [...pieces.flatMap((bytes) => [...decoder.decode(bytes)]), ...decoder.end()];
}

const STREAM = "\uFEFF: hello\n\ndata: a\ndata:b😀\nid: 1\n\nevent: x\n\ndata\n\ndata:  c";
const EVENTS = ["a\nb😀", "", " c"];

describe("server-sent events", () => {
  it.each([
    ["LF", "\n"],
    ["CR LF", "\r\n"],
    ["CR", "\r"],
  ])("decodes the same events regardless of chunk boundaries, with lines ending in %s", (_, end) => {
    const bytes = Buffer.from(STREAM.replaceAll("\n", end));
    expect(decoded(bytes)).toEqual(EVENTS);
    expect(decoded(...[...bytes].map((byte) => Buffer.of(byte)))).toEqual(EVENTS);
    for (let at = 1; at < bytes.length; at++)
      expect(decoded(bytes.subarray(0, at), bytes.subarray(at)), `cut at ${at}`).toEqual(EVENTS);
  });

  it("throws when one event is too long, in one line or several", () => {
    const long = Buffer.alloc(1024 * 1024, "x");
    expect(() => decoded(...Array.from({ length: 5 }, () => long))).toThrow(RangeError);
    const lines = Buffer.from(`data: ${"x".repeat(1024 * 1024)}\n`);
    expect(() => decoded(...Array.from({ length: 5 }, () => lines))).toThrow(RangeError);
    expect(decoded(lines, lines, Buffer.from("\n"), lines, lines)).toHaveLength(2);
  });
});
