import { describe, expect, it } from "vitest";
import { parseAmount } from "../../src/console/pages/deposit/amount.ts";

describe("an amount to deposit", () => {
  it.each([
    ["25", 25_000_000n],
    ["12.5", 12_500_000n],
    ["0.010000", 10_000n],
    ["1.000001", 1_000_001n],
    [".5", 500_000n],
    ["7.", 7_000_000n],
    [" $10 ", 10_000_000n],
    ["0019", 19_000_000n],
    ["999999.999999", 999_999_999_999n],
    ["1000000", 1_000_000_000_000n],
  ])("reads %j to the micro-USD", (text, microUsd) => {
    expect(parseAmount(text)).toEqual({ microUsd });
  });

  it.each([
    ["", /how much/],
    ["   ", /how much/],
    ["$", /how much/],
    ["1,000", /without commas/],
    ["12,50", /without commas/],
    ["-5", /more than nothing/],
    ["1e3", /no amount/],
    ["0x10", /no amount/],
    [".", /no amount/],
    ["1.2.3", /no amount/],
    ["١٢", /no amount/],
    ["5 USDC", /no amount/],
    ["0.0000001", /six decimals/],
    ["0", /least/],
    ["0.009999", /least/],
    ["1000000.000001", /most/],
    ["99999999999999999999", /most/],
  ])("refuses %j and says what to do", (text, problem) => {
    expect(parseAmount(text)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
