import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const names = z.record(z.string(), z.string());
const manifest = z
  .object({
    ...{ dependencies: names, devDependencies: names, optionalDependencies: names },
    /** Of every dependent, or of the named one. */
    overrides: z.record(z.string(), z.union([z.string(), names])),
  })
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
        link: z.boolean().optional(),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync("package-lock.json", "utf8")));
/** Packages of this checkout. */
const LOCAL = new Set(["file:src/client", "file:test/packages"]);
const page = readFileSync("docs/explanation/security.md", "utf8");

function copies(name: string) {
  return Object.entries(lock.packages).filter(
    ([path]) => path === `node_modules/${name}` || path.endsWith(`/node_modules/${name}`),
  );
}

describe("dependencies", () => {
  it("pins dependencies to exact versions", () => {
    const all = Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.optionalDependencies,
    });
    const overrides = Object.entries(manifest.overrides)
      .flatMap(([name, by]) => (typeof by === "string" ? [[name, by] as const] : Object.entries(by)))
      // By the version of a direct dependency.
      .filter(([name, version]) => version !== `$${name}`);
    expect(
      [...all, ...overrides].filter(
        ([, version]) =>
          !/^(?:npm:@?[\w./-]+@)?\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version) && !LOCAL.has(version),
      ),
    ).toEqual([]);
  });

  it("pins actions by commit, and publishes in a job that runs no code of the repository", () => {
    const folder = ".github/workflows";
    const workflows = readdirSync(folder).map((name) => readFileSync(`${folder}/${name}`, "utf8"));
    const used = workflows.flatMap((text) => text.match(/uses: .*/g) ?? []);
    expect(used.length).toBeGreaterThan(5);
    expect(used.filter((line) => !/^uses: [\w/-]+@[\da-f]{40} # v[\d.]+$/.test(line))).toEqual([]);
    const [, publish = ""] = readFileSync(`${folder}/release.yml`, "utf8").split("\n  publish:\n");
    expect(publish).toContain("id-token: write");
    expect(publish).toContain("sha256sum --check");
    expect(publish).not.toMatch(/actions\/checkout|npm (?:ci|install|run|test)/);
  });

  it("pins every package by hash and installs from the registry only", () => {
    const installed = Object.entries(lock.packages).filter(
      ([path, { link }]) => path.startsWith("node_modules/") && link !== true,
    );
    expect(
      installed.filter(([, { integrity }]) => !integrity?.startsWith("sha512-")).map(([path]) => path),
    ).toEqual([]);
    const elsewhere = installed.filter(([, { resolved }]) => resolved !== undefined);
    expect(elsewhere.map(([path]) => path)).toEqual([]);
  });

  it("runs no install scripts", () => {
    expect(readFileSync(".npmrc", "utf8")).toMatch(/^ignore-scripts=true$/m);
  });

  it("lists every production dependency on the security page, and no other", () => {
    const [, list = ""] = /## Production dependencies\n[\s\S]*?\n(- [\s\S]*?)\n\n/.exec(page) ?? [];
    const listed = Array.from(list.matchAll(/`(@?[\w/.-]+)`/g), ([, name = ""]) => name);
    const optional = Object.keys(manifest.optionalDependencies).filter((name) => !name.startsWith("node-"));
    expect(listed.toSorted()).toEqual([...Object.keys(manifest.dependencies), ...optional].toSorted());
  });

  it("excludes versions known to be malicious", () => {
    expect(copies("@solana/web3.js").map(([, { version }]) => version)).toEqual(["1.99.0"]);
    expect(copies("bigint-buffer").map(([, { name }]) => name)).toEqual(["@trufflesuite/bigint-buffer"]);
    expect(new Set(copies("uuid").map(([, { version }]) => version))).toEqual(new Set(["11.1.1"]));
    for (const [path, { version = "" }] of copies("protobufjs"))
      expect(version, path).toMatch(/^7\.(?:6\.[3-9]|[7-9]|\d\d)/);
  });
});

describe("the security page", () => {
  it("the security page names existing tests", () => {
    const tests = [...page.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path = ""]) => path);
    expect(tests.length).toBeGreaterThan(20);
    expect(tests.filter((path) => !existsSync(path))).toEqual([]);
  });
});
