import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";

const root = path.resolve(import.meta.dirname, "../..");
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "httpjson-"));
  const args = [
    "generate",
    "test/httpjson/proto",
    "--config",
    "test/httpjson/buf.yaml",
    "--template",
    "test/httpjson/buf.gen.yaml",
    "-o",
    folder,
  ];
  const bin = path.join(root, "node_modules/.bin");
  execFileSync(path.join(bin, "buf"), args, {
    cwd: root,
    env: { ...process.env, PATH: `${bin}${path.delimiter}${process.env["PATH"]}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function contents(base: string): Map<string, string> {
  const names = readdirSync(base, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  return new Map(names.sort().map((name) => [name, readFileSync(path.join(base, name), "utf8")]));
}

it("generating again gives the committed code, byte for byte", () => {
  const generated = contents(path.join(folder, "test/httpjson/gen"));
  expect(generated.size).toBeGreaterThan(10);
  expect(generated).toEqual(contents(path.join(root, "test/httpjson/gen")));
});
