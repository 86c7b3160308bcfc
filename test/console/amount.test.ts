import { describe, expect, it } from "vitest";
import { parseAmount } from "../../src/console/pages/deposit/amount.ts";

describe("parseAmount", () => {
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
  ])("parses %j exactly", (text, microUsd) => {
    expect(parseAmount(text)).toEqual({ microUsd });
  });

  it.each([
    ["", /^Enter an amount/],
    ["   ", /^Enter an amount/],
    ["$", /^Enter an amount/],
    ["1,000", /no commas/],
    ["12,50", /no commas/],
    ["-5", /positive/],
    ["1e3", /such as 25/],
    ["0x10", /such as 25/],
    [".", /such as 25/],
    ["1.2.3", /such as 25/],
    ["١٢", /such as 25/],
    ["5 USDC", /such as 25/],
    ["0.0000001", /six decimals/],
    ["0", /^Minimum \$0\.01\.$/],
    ["0.009999", /Minimum/],
    ["1000000.000001", /^Maximum \$1,000,000\.$/],
    ["99999999999999999999", /Maximum/],
  ])("rejects %j with an instruction", (text, problem) => {
    expect(parseAmount(text)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
