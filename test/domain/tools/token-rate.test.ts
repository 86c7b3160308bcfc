import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatTokenRate, parseTokenRate, priceOfTokens } from "../../../src/domain/tools/chat.ts";

const rate = (text: string): bigint => {
  const parsed = parseTokenRate(text);
  if (parsed === undefined) throw new Error(`${text} was refused`);
  return parsed;
};

describe("a price per million tokens", () => {
  it.each([
    ["0.2", 200_000_000n],
    ["15", 15_000_000_000n],
    ["15.00", 15_000_000_000n],
    ["0.000000001", 1n],
    ["0", 0n],
    ["999999.999999999", 999_999_999_999_999n],
  ])("parses %s exactly", (text, expected) => {
    expect(parseTokenRate(text)).toBe(expected);
  });

  it.each(["0", "0.2", "15", "0.000000001", "1.05", "999999.999999999"])("formats %s as it was", (text) => {
    expect(formatTokenRate(rate(text))).toBe(text);
  });

  it.each("|.5|1.|-1|+1|1e-7|0.0000000001|1000000|NaN|Infinity| 1|1,5|0x10".split("|"))(
    "rejects %j",
    (text) => {
      expect(parseTokenRate(text)).toBeUndefined();
    },
  );

  it("equals micro-USD per token", () => {
    expect(priceOfTokens({ tokens: 1_000_000, rate: rate("0.2") })).toBe(200_000n);
    expect(priceOfTokens({ tokens: 1, rate: rate("15") })).toBe(15n);
  });

  it("rounds up once, over the sum", () => {
    expect(priceOfTokens({ tokens: 1, rate: rate("0.4") }, { tokens: 1, rate: rate("0.4") })).toBe(1n);
    expect(priceOfTokens({ tokens: 1, rate: rate("0.6") }, { tokens: 1, rate: rate("0.6") })).toBe(2n);
    expect(priceOfTokens({ tokens: 1, rate: rate("1.000000001") })).toBe(2n);
  });

  it("is never zero", () => {
    expect(priceOfTokens({ tokens: 1_000, rate: 0n })).toBe(1n);
  });

  it("avoids binary fractions", () => {
    // 0.1 * 3 is 0.30000000000000004 as a float; ten million tokens at 0.1 and 0.2 cost exactly 3 USD.
    expect(
      priceOfTokens({ tokens: 10_000_000, rate: rate("0.1") }, { tokens: 10_000_000, rate: rate("0.2") }),
    ).toBe(3_000_000n);
  });

  it("grows with the tokens and is never a whole micro-USD too high", () => {
    fc.assert(
      fc.property(
        fc.nat(10_000_000),
        fc.nat(10_000_000),
        fc.bigInt(0n, 10n ** 15n - 1n),
        (tokens, more, perToken) => {
          const price = priceOfTokens({ tokens, rate: perToken });
          const exact = BigInt(tokens) * perToken;
          expect(priceOfTokens({ tokens: tokens + more, rate: perToken })).toBeGreaterThanOrEqual(price);
          expect(price * 1_000_000_000n).toBeGreaterThanOrEqual(exact);
          if (price > 1n) expect((price - 1n) * 1_000_000_000n).toBeLessThan(exact);
        },
      ),
    );
  });
});
