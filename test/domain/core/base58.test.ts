import { base58 } from "@scure/base";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase58, encodeBase58, parseAddress, parseSignature } from "../../../src/domain/core/base58.ts";

/** Bytes of every length that is written, often with zeros or the largest bytes in front. */
const bytes = fc
  .tuple(
    fc.constantFrom(0, 255),
    fc.integer({ min: 0, max: 20 }),
    fc.uint8Array({ maxLength: 121, size: "max", minLength: 0 }),
  )
  .map(([byte, count, rest]) => Buffer.from([...Array.from({ length: count }, () => byte), ...rest]));

describe("base58", () => {
  it("encodes like the reference implementation", () => {
    fc.assert(fc.property(bytes, (value) => encodeBase58(value) === base58.encode(value)));
  });

  it("decodes like the reference implementation", () => {
    fc.assert(fc.property(bytes, (value) => decodeBase58(base58.encode(value).slice(0, 188)) !== undefined));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (value) => {
        expect(decodeBase58(base58.encode(value))).toEqual(Buffer.from(value));
      }),
    );
  });

  it("decodes the largest numbers exactly", () => {
    for (const length of [1, 2, 3, 4, 32, 64, 81, 140, 141]) {
      const largest = Buffer.alloc(length, 255);
      expect(encodeBase58(largest)).toBe(base58.encode(largest));
    }
    const text = "z".repeat(188);
    expect(decodeBase58(text)).toEqual(Buffer.from(base58.decode(text)));
  });

  it("rejects input longer than any identifier", () => {
    expect(() => encodeBase58(Buffer.alloc(142, 1))).toThrow(RangeError);
    expect(decodeBase58("2".repeat(189))).toBeUndefined();
  });

  it("rejects other characters at any position", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("0", "O", "I", "l", " ", "\u0131", "é", "=", "😀"),
        fc.nat(87),
        (bad, at) => {
          const text = "2".repeat(87);
          expect(decodeBase58(text.slice(0, at) + bad + text.slice(at))).toBeUndefined();
        },
      ),
    );
  });

  it("recognises signatures and addresses by their length in bytes", () => {
    const text = (length: number, byte: number) => base58.encode(Buffer.alloc(length, byte));
    for (const byte of [0, 1, 255]) {
      expect(parseSignature(text(64, byte))).toEqual(Buffer.alloc(64, byte));
      expect(parseAddress(text(32, byte))).toEqual(Buffer.alloc(32, byte));
      for (const length of [31, 33, 63, 65]) {
        expect(parseSignature(text(length, byte))).toBeUndefined();
        expect(parseAddress(text(length, byte))).toBeUndefined();
      }
    }
  });
});
