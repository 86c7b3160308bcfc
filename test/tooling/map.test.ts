import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");

/** The folders below a folder that hold files, or only test files. */
function folders(root: "src" | "test", name = ""): string[] {
  return readdirSync(path.join(ROOT, root, name), { recursive: true, withFileTypes: true })
    .filter((entry) => root === "src" || entry.name.endsWith(".test.ts"))
    .map((entry) => path.relative(path.join(ROOT, root), entry.parentPath));
}

it("the test folders that mirror src have their folder, or the one above, in src", () => {
  const [, mirrors = ""] = readFileSync(path.join(ROOT, "test/README.md"), "utf8").split("\n## ");
  const mirrored = Array.from(mirrors.matchAll(/`([a-z]+)`/g), ([, name = ""]) => name);
  const tests = mirrored.filter((name) => name !== "src").flatMap((name) => folders("test", name));
  const sources = new Set(folders("src"));
  const hasSource = (folder: string) => sources.has(folder) || sources.has(path.dirname(folder));
  expect([...new Set(tests)].filter((folder) => !hasSource(folder))).toEqual([]);
});
