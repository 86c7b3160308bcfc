import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { SHOWN } from "./cases.ts";

/** Each decision about proofs, money and the treasury names the tests that show it, in cases.ts. */
const ROOT = path.resolve(import.meta.dirname, "../../..");
const decisions = await readFile(path.join(ROOT, "docs/reference/decisions.md"), "utf8");

/** The first column of a section's table. */
function rowsOf(section: string): string[] {
  const [, after = ""] = decisions.split(`\n## ${section}\n`);
  const [table = ""] = after.split("\n## ");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(1).map((line) => line.slice(2, line.indexOf(" | ")));
}

const rows = ["Proof", "Money", "Treasury"].flatMap(rowsOf);

describe("decisions about money", () => {
  it("lists the same decisions in cases.ts and in the docs", () => {
    expect(rows.length).toBeGreaterThan(25);
    expect(Object.keys(SHOWN).toSorted()).toEqual(rows.toSorted());
  });

  it.each(Object.entries(SHOWN))("names existing tests for the decision: %s", async (_row, tests) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const [file, title] of tests) {
      const text = await readFile(path.join(ROOT, "test", file), "utf8");
      expect(text.includes(title), `${file}: ${title}`).toBe(true);
    }
  });
});
