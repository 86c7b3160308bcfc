import { access, readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "../tooling/command.ts";
import { switchOff } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";

describe("the list of guards", () => {
  it("has a name of its own for each, and one sentence", () => {
    const names = MUTANTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.length).toBeGreaterThanOrEqual(35);
    for (const { name, guard } of MUTANTS) {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(guard, name).toMatch(/^[A-Z][^.]*\.$/);
    }
  });

  it.each(MUTANTS)("finds $name once in $file, and leaves a program without it", async (mutant) => {
    const source = await readFile(path.join(ROOT, mutant.file), "utf8");
    const without = switchOff(mutant, source);
    expect(without).not.toBe(source);
    expect(() => stripTypeScriptTypes(without)).not.toThrow();
  });

  it("names test files that there are", async () => {
    for (const file of new Set(MUTANTS.flatMap(({ tests }) => tests))) {
      expect(file).toMatch(/\.test\.ts$/);
      await expect(access(path.join(ROOT, file)), file).resolves.toBeUndefined();
    }
  });
});
