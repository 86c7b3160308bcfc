import { describe, expect, it } from "vitest";
import { decimalsOf, formatUsd, truncateMiddle } from "../../src/console/format.ts";

describe("formatUsd", () => {
  it.each([
    [0n, "$0.00"],
    [1n, "$0.000001"],
    [2_500n, "$0.0025"],
    [10_000n, "$0.01"],
    [1_204_500_000n, "$1,204.50"],
    [-1_204_500_000n, "-$1,204.50"],
    [9_007_199_254_740_991n, "$9,007,199,254.740991"],
  ])("formats %d micro-USD exactly", (microUsd, text) => {
    expect(formatUsd(microUsd)).toBe(text);
    expect(decimalsOf(microUsd)).toBe(text.split(".")[1]?.length);
  });
});

describe("truncateMiddle", () => {
  it("keeps the type prefix, the start and the end", () => {
    expect(truncateMiddle("key_01a201c51e9873a690b5f5b40d113d66")).toBe("key_01a2…3d66");
    expect(truncateMiddle("EzVQet7L9DL2pFhaPhwCVjC2unt4T1fxjd6otGZ4tHe7")).toBe("EzVQ…tHe7");
    expect(truncateMiddle("key_a1")).toBe("key_a1");
  });
});
