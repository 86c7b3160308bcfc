import { expect, it } from "vitest";

import { tooLong } from "./docs-size.ts";

const PAGES = [3, 1, 6, 5, 2, 4].map((words) => [`docs/${words}.md`, words] as const);

it("accepts docs that have no more words than allowed", () => {
  expect(tooLong(PAGES, 21)).toBe("");
});

it("reports the words and the five longest pages of docs that are too long", () => {
  expect(tooLong(PAGES, 20).split("\n")).toEqual([
    "docs/ has 21 words; at most 20 are allowed. Shorten it. The longest pages:",
    ...[6, 5, 4, 3, 2].map((words) => `  ${words} docs/${words}.md`),
    "",
  ]);
});
