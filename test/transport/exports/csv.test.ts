import { describe, expect, it } from "vitest";
import { BYTE_ORDER_MARK, csvLine } from "../../../src/transport/exports/csv.ts";
import { parseCsv } from "../../support/csv.ts";

/** A text as a file has it, read again. */
const told = (text: string) => parseCsv(`${BYTE_ORDER_MARK}cell\r\n${csvLine([text])}`)[0]?.["cell"];

describe("a line of a file", () => {
  it("has amounts as numbers with six places, signed, whatever their size", () => {
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
  ])("has the text %j as it is", (text) => {
    expect(told(text)).toBe(text);
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
  ])("has the text %j so that it is no formula", (text, safe) => {
    expect(told(text)).toBe(safe);
  });

  it("has half a surrogate pair as what UTF-8 can tell", () => {
    expect(csvLine(["\uD800x"])).toBe("\uFFFDx\r\n");
  });
});
