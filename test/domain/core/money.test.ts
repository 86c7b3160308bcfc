import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { displayUsd, formatUsdc, MAX_MICRO_USD, parseUsdc } from "../../../src/domain/core/money.ts";

describe("money", () => {
  it("parses decimal USDC with up to six places", () => {
    expect(parseUsdc("0.01")).toBe(10_000n);
    expect(parseUsdc("5.000000")).toBe(5_000_000n);
    expect(parseUsdc("7")).toBe(7_000_000n);
  });

  it("rejects anything but decimal USDC", () => {
    const bad = "|-1|+1|1.|.5|1.0000001|1e3|0x1|1,5| 1|NaN|Infinity|9007199254.740992|99999999999|١";
    for (const text of bad.split("|")) expect(parseUsdc(text), text).toBeUndefined();
  });

  it("parses what it formats", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: MAX_MICRO_USD }),
        (amount) => parseUsdc(formatUsdc(amount)) === amount,
      ),
    );
  });

  it("formats six places, also below zero", () => {
    expect(formatUsdc(0n)).toBe("0.000000");
    expect(formatUsdc(10_000n)).toBe("0.010000");
    expect(formatUsdc(-1n)).toBe("-0.000001");
  });

  it("formats prices with at least cents and no needless zeros", () => {
    const amounts = [10_000n, 2_400n, 1n, 1_000_000n, 1_500_000n, 0n];
    expect(amounts.map(displayUsd).join(" ")).toBe("$0.01 $0.0024 $0.000001 $1.00 $1.50 $0.00");
  });
});
