import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const [, mirrors = "", judges = ""] = readFileSync(path.join(ROOT, "test/README.md"), "utf8").split("\n## ");

/** Names in backticks, without their subfolders. */
function names(text: string): string[] {
  return Array.from(text.matchAll(/`([a-z0-9-]+)(?:\/[a-z]+)?`/g), ([, name = ""]) => name);
}

const mirrored = names(mirrors).filter((name) => name !== "src");
const judging = judges.split("\n").flatMap((line) => names(line.split("|")[1] ?? ""));

it("test/README.md names every folder of test/", () => {
  const folders = readdirSync(path.join(ROOT, "test"), { withFileTypes: true });
  expect([...new Set([...mirrored, ...judging])].sort()).toEqual(
    folders.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort(),
  );
});

it("the test folders that mirror src hold tests only where src has the same folder", () => {
  const folders = (root: string, name = "") =>
    new Set(
      readdirSync(path.join(ROOT, root, name), { recursive: true, withFileTypes: true })
        .filter((entry) => root === "src" || entry.name.endsWith(".test.ts"))
        .map((entry) => path.relative(path.join(ROOT, root), entry.parentPath)),
    );
  const sources = folders("src");
  const tests = mirrored.flatMap((name) => [...folders("test", name)]);
  expect(tests.filter((folder) => !sources.has(folder))).toEqual([]);
});
