import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const names = z.record(z.string(), z.string());
const manifest = z
  .object({ dependencies: names, devDependencies: names, overrides: names })
  .parse(JSON.parse(readFileSync("package.json", "utf8")));
const lock = z
  .object({
    packages: z.record(
      z.string(),
      z.object({
        name: z.string().optional(),
        version: z.string().optional(),
        resolved: z.string().optional(),
        integrity: z.string().optional(),
        dev: z.boolean().optional(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync("package-lock.json", "utf8")));
const page = readFileSync("docs/explanation/security.md", "utf8");

/** Every installed copy of a package. */
function copies(name: string) {
  return Object.entries(lock.packages).filter(
    ([path]) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`),
  );
}

describe("dependencies", () => {
  it("are exact versions, not ranges", () => {
    const all = Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.overrides,
    });
    expect(
      all.filter(([, version]) => !/^(?:npm:@?[\w./-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)),
    ).toEqual([]);
  });

  it("are pinned by hash, every one of them, and none comes from a place of its own", () => {
    const installed = Object.entries(lock.packages).filter(([path]) => path !== "");
    expect(
      installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path),
    ).toEqual([]);
    const elsewhere = installed.filter(([, { resolved }]) => resolved !== undefined);
    expect(elsewhere.map(([path]) => path)).toEqual([]);
  });

  it("run no code of theirs when they are installed", () => {
    expect(readFileSync(".npmrc", "utf8")).toMatch(/^ignore-scripts=true$/m);
  });

  it("of production are all on the security page, with their versions, and no others", () => {
    const rows = [...page.matchAll(/^\| `([@\w/.-]+)` \| (\d[\w.-]*) \|/gm)].map(([, name, version]) => [
      name,
      version,
    ]);
    expect(Object.fromEntries(rows)).toEqual(manifest.dependencies);
  });

  it("are none of those that are known to be bad", () => {
    expect(copies("@solana/web3.js").map(([, { version }]) => version)).toEqual(["1.99.0"]);
    expect(copies("bigint-buffer").map(([, { name }]) => name)).toEqual(["@trufflesuite/bigint-buffer"]);
    expect(new Set(copies("uuid").map(([, { version }]) => version))).toEqual(new Set(["11.1.1"]));
    for (const [path, { version = "" }] of copies("protobufjs"))
      expect(version, path).toMatch(/^7\.(?:6\.[3-9]|[7-9]|\d\d)/);
  });
});

describe("the security page", () => {
  it("names tests that there are", () => {
    const tests = [...page.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path = ""]) => path);
    expect(tests.length).toBeGreaterThan(20);
    expect(tests.filter((path) => !existsSync(path))).toEqual([]);
  });
});
