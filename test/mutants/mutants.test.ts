import { access, readdir, readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { switchOff } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";

/** Separators of literal phrases in a pattern of test names. */
const PATTERN_OPERATORS = /\||\.\*|[()]/;

describe("mutants", () => {
  it("have unique names and one sentence each", () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(150);
    for (const { name, guard } of MUTANTS) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(guard, name).toMatch(/^[A-Z][^.]*\.$/);
    }
  });

  it.each(MUTANTS)("$name occurs once in $file and leaves a valid program", async (mutant) => {
    const source = await readFile(path.join(ROOT, mutant.file), "utf8");
    const without = switchOff(mutant, source);
    expect(without).not.toBe(source);
    if (mutant.file.endsWith(".ts")) expect(() => stripTypeScriptTypes(without)).not.toThrow();
  });

  it("name existing test files", async () => {
    for (const file of new Set(MUTANTS.flatMap(({ files }) => files))) {
      expect(file).toMatch(/\.test\.ts$/);
      await expect(access(path.join(ROOT, file)), file).resolves.toBeUndefined();
    }
  });

  it("named in docs/explanation/reliability.md exist, in the file that the page names", async () => {
    const page = await readFile(path.join(ROOT, "docs/explanation/reliability.md"), "utf8");
    const rows = [...page.matchAll(/^\| .* \| `(src\/[^`]+)` \| `([a-z-]+)` \|$/gm)];
    expect(rows).toHaveLength(10);
    for (const [, file, name] of rows)
      expect(MUTANTS).toContainEqual(expect.objectContaining({ name, file }));
  });

  it("select tests by phrases of their titles", async () => {
    const unknown = await Promise.all(
      MUTANTS.map(async ({ name, files, only = "" }) => {
        const sources = await Promise.all(files.map(titleSource));
        const missing = only
          .split(PATTERN_OPERATORS)
          .filter((phrase) => !sources.some((source) => source.includes(phrase)));
        return missing.map((phrase) => `${name}: ${phrase}`);
      }),
    );
    expect(unknown.flat()).toEqual([]);
  });
});

/** Returns the text of a test file and of the helpers below its folder, which may hold titles. */
async function titleSource(test: string): Promise<string> {
  const folder = path.join(ROOT, path.dirname(test));
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const helpers = names.filter((name) => !name.endsWith(".test.ts"));
  const files = [path.join(ROOT, test), ...helpers.map((name) => path.join(folder, name))];
  return (await Promise.all(files.map((file) => readFile(file, "utf8")))).join("\n");
}
