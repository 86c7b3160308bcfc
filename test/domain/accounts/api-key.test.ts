import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isSignedWith,
  KEY_LENGTH,
  KEY_PATTERN,
  newApiKey,
  parseApiKey,
} from "../../../src/domain/accounts/api-key.ts";
import { mistyped } from "../../support/api-keys.ts";

const secret = randomBytes(32);
const uint16 = fc.integer({ min: 0, max: 0xffff });
const random20 = fc.uint8Array({ minLength: 20, maxLength: 20 });

describe("API keys", () => {
  it("always have the published form and length, with their version and cell", () => {
    const extremes = [new Uint8Array(20), new Uint8Array(20).fill(255)];
    fc.assert(
      fc.property(
        fc.oneof(random20, fc.constantFrom(...extremes)),
        uint16,
        uint16,
        (bytes, version, cell) => {
          const text = newApiKey({ version, secret }, { bytes: () => new Uint8Array(bytes) }, cell);
          expect(text).toMatch(KEY_PATTERN);
          expect(text).toHaveLength(KEY_LENGTH);
          const parsed = parseApiKey(text);
          expect(parsed).toMatchObject({ version, cell });
          expect(parsed && isSignedWith(parsed, secret)).toBe(true);
        },
      ),
    );
  });

  it("are rejected under another secret or with any character changed", () => {
    fc.assert(
      fc.property(random20, uint16, (bytes, version) => {
        const text = newApiKey({ version, secret }, { bytes: () => new Uint8Array(bytes) });
        const genuine = parseApiKey(text);
        expect(genuine && isSignedWith(genuine, randomBytes(32))).toBe(false);
        const wrong = parseApiKey(mistyped(text));
        expect(wrong !== undefined && isSignedWith(wrong, secret)).toBe(false);
      }),
    );
  });

  it("are rejected when shorter, longer or spelled otherwise", () => {
    const text = newApiKey(
      { version: 1, secret },
      { bytes: (length) => new Uint8Array(randomBytes(length)) },
    );
    const wrong = [
      "",
      "sk-agent-",
      text.slice(9),
      text.slice(0, -1),
      `${text}1`,
      ` ${text}`,
      text.replace("sk-agent-", "SK-AGENT-"),
      text.replace(/.$/, "0"),
      text.replace(/^sk-agent-./, "sk-agent-5"),
      text.replace(/^sk-agent-./, "sk-agent-1"),
      `sk-agent-${"1".repeat(50)}`,
      `sk-agent-${"z".repeat(50)}`,
      `sk-agent-2${"é".repeat(49)}`,
    ];
    for (const one of wrong) expect(parseApiKey(one), one).toBeUndefined();
  });
});
