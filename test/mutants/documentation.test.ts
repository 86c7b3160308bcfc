import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { MUTANTS } from "./mutants.ts";
import { namesIn } from "./table.ts";

it("docs/explanation/reliability.md lists every guard in order, and each was caught", async () => {
  const page = await readFile(path.join(ROOT, "docs/explanation/reliability.md"), "utf8");
  const [, table = ""] = /<!-- mutants -->\n([\s\S]*?)<!-- \/mutants -->/.exec(page) ?? [];
  expect(namesIn(table)).toEqual(MUTANTS.map(({ name }) => name));
  expect(table).not.toMatch(/\| (?:survived|invalid) \|$/m);
});
