import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fingerprint } from "../../../src/domain/calls/call-context.ts";
import { newId } from "../../../src/domain/core/ids.ts";
import { Quotes, stepIdOf, type SealingKey } from "../../../src/domain/payments/quote.ts";
import { systemRandom } from "../../../src/system.ts";

const NOW = 1_790_000_000_000;
const clock = { now: () => NOW };
const account = newId("acct", clock, systemRandom);
const print = fingerprint("echo", { message: "hi" });

function keyring(...keys: SealingKey[]) {
  return {
    current: () => keys.at(-1) ?? expect.fail("no key"),
    version: (version: number) => keys.find((key) => key.version === version),
  };
}
const newKey = (version: number): SealingKey => ({ version, secret: randomBytes(32) });
const key = newKey(1);
const quotes = new Quotes(keyring(key), clock, systemRandom, 300);

describe("a sealed quote", () => {
  it("opens to the sealed content", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.jsonValue(), (price, value) => {
        const call = fingerprint("tool", { value: JSON.parse(JSON.stringify(value)) });
        const issued = quotes.issue(account, price, call);
        expect(quotes.open(issued.quoteId)).toEqual(issued);
        expect(issued.fingerprint).toEqual(call);
      }),
    );
  });

  it("is bound to every byte of the call's fingerprint", () => {
    for (const index of [0, 15, 16, 31]) {
      const other = Buffer.from(print);
      other.writeUInt8(other.readUInt8(index) ^ 1, index);
      const { quoteId } = quotes.issue(account, 1n, other);
      expect(quotes.open(quoteId)?.fingerprint.equals(print)).toBe(false);
    }
  });

  it("is unique, contains no colon and fits a memo", () => {
    const ids = Array.from({ length: 200 }, () => quotes.issue(account, 1n, print).quoteId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^qt_[1-9A-HJ-NP-Za-km-z]{120,140}$/);
  });

  it("does not open with any character changed, dropped or added", () => {
    const { quoteId } = quotes.issue(account, 5n, print);
    const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: quoteId.length - 1 }),
        fc.constantFrom(...alphabet),
        (index, character) => {
          const changed = quoteId.slice(0, index) + character + quoteId.slice(index + 1);
          expect(quotes.open(changed) === undefined || changed === quoteId).toBe(true);
          expect(quotes.open(quoteId.slice(0, index) + quoteId.slice(index + 1))).toBeUndefined();
          expect(quotes.open(quoteId.slice(0, index) + character + quoteId.slice(index))).toBeUndefined();
        },
      ),
    );
  });

  it("does not open from other text", () => {
    fc.assert(
      fc.property(
        fc.string(),
        (text) => quotes.open(text) === undefined && quotes.open(`qt_${text}`) === undefined,
      ),
    );
    fc.assert(
      fc.property(
        fc.string({ minLength: 0, maxLength: 5000 }),
        (text) => quotes.open(`qt_${text}`) === undefined,
      ),
    );
  });

  it("does not open under another secret or another version", () => {
    const { quoteId } = quotes.issue(account, 7n, print);
    expect(new Quotes(keyring(newKey(1)), clock, systemRandom, 300).open(quoteId)).toBeUndefined();
    expect(
      new Quotes(keyring({ version: 2, secret: key.secret }), clock, systemRandom, 300).open(quoteId),
    ).toBeUndefined();
  });

  it("has its own step id", () => {
    const one = quotes.issue(account, 1n, print).quoteId;
    expect(stepIdOf(one)).toMatch(/^step_[0-9a-f]{32}$/);
    expect(stepIdOf(one)).toBe(stepIdOf(one));
    expect(stepIdOf(one)).not.toBe(stepIdOf(quotes.issue(account, 1n, print).quoteId));
  });
});
