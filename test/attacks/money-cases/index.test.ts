import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { SHOWN } from "./cases.ts";

/** What the decisions say of payments, money and the treasury, row by row, and where each is shown: the table is in cases.ts. */
const ROOT = path.resolve(import.meta.dirname, "../../..");
const decisions = await readFile(path.join(ROOT, "docs/reference/decisions.md"), "utf8");

/** The first column of a section's table. */
function rowsOf(section: string): string[] {
  const [, after = ""] = decisions.split(`\n## ${section}\n`);
  const [table = ""] = after.split("\n## ");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return rows.slice(1).map((line) => line.slice(2, line.indexOf(" | ")));
}

const rows = ["Proof", "Money", "Keeper"].flatMap(rowsOf);

describe("the cases of the decisions", () => {
  it("are all in the table, and nothing else is", () => {
    expect(rows.length).toBeGreaterThan(25);
    expect(Object.keys(SHOWN).toSorted()).toEqual(rows.toSorted());
  });

  it.each(Object.entries(SHOWN))("are shown by tests that there are: %s", async (_row, tests) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const [file, title] of tests) {
      const text = await readFile(path.join(ROOT, "test", file), "utf8");
      expect(text.includes(title), `${file}: ${title}`).toBe(true);
    }
  });
});
