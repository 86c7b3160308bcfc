import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { MUTANT_GROUPS, MUTANTS } from "./mutants.ts";
import { markdownOf } from "./table.ts";

it("docs/reference/guards.md lists every guard in order, each caught", async () => {
  const page = await readFile(path.join(ROOT, "docs/reference/guards.md"), "utf8");
  const [, tables = ""] = /<!-- guards -->\n\n([\s\S]*?)\n<!-- \/guards -->/.exec(page) ?? [];
  const caught = MUTANTS.map((mutant) => ({
    mutant,
    verdict: { kind: "caught", by: [] } as const,
    seconds: 0,
  }));
  expect(tables).toBe(markdownOf(caught, MUTANT_GROUPS));
});
