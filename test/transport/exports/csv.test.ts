import { describe, expect, it } from "vitest";
import { BYTE_ORDER_MARK, csvLine } from "../../../src/transport/exports/csv.ts";
import { parseCsv } from "../../support/csv.ts";

/** Returns a text after writing and reading a file. */
const roundTrip = (text: string) => parseCsv(`${BYTE_ORDER_MARK}cell\r\n${csvLine([text])}`)[0]?.["cell"];

describe("a line of a file", () => {
  it("writes amounts as signed numbers with six decimals", () => {
    expect(csvLine([-1n, 0n, 10_000n, -(10n ** 18n) - 1n, undefined, ""])).toBe(
      "-0.000001,0.000000,0.010000,-1000000000000.000001,,\r\n",
    );
  });

  it.each([
    "plain",
    "comma, and more",
    'quo"te',
    '"',
    "two\r\nlines",
    "one\nline",
    " edges ",
    "schlüssel 🔑",
    "a;b",
    "a-b+c=d@e",
  ])("writes the text %j unchanged", (text) => {
    expect(roundTrip(text)).toBe(text);
  });

  it.each([
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1.5", "'-1.5"],
    ["@sum", "'@sum"],
    ["\tx", "'\tx"],
    ["\r\nx", "'\r\nx"],
    ["\n=x", "'\n'=x"],
    ['=HYPERLINK("http://x";"y")', `'=HYPERLINK("http://x";"y")`],
    ["note;=1+1", "note;'=1+1"],
    ["note\t=1+1", "note\t'=1+1"],
    ["note\r\n -1", "note\r\n '-1"],
    ["＝1", "'＝1"],
  ])("escapes the formula %j", (text, safe) => {
    expect(roundTrip(text)).toBe(safe);
  });

  it("replaces a lone surrogate", () => {
    expect(csvLine(["\uD800x"])).toBe("\uFFFDx\r\n");
  });
});
