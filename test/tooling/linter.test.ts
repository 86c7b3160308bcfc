import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { command, ROOT } from "./command.ts";

/** Sources that the linter must refuse. */
const SOURCES: Record<string, { file: string; source: string; rule: string }> = {
  "an import() type": {
    file: "src/domain/core/import-type.ts",
    source: 'export type B = import("../../app/calls/ledger.ts").A;\n',
    rule: "consistent-type-imports",
  },
  "randomness in the domain": {
    file: "src/domain/random.ts",
    source: 'import { randomUUID } from "node:crypto";\nexport const id = randomUUID;\n',
    rule: "no-restricted-imports",
  },
  "the environment outside of the configuration": {
    file: "src/tools/environment.ts",
    source: 'export const url = process.env["URL"];\n',
    rule: "no-process-env",
  },
  "a circle of imports": {
    file: "src/app/circle-a.ts",
    source: 'import { b } from "./circle-b.ts";\nexport const a: () => unknown = () => b;\n',
    rule: "no-cycle",
  },
  "its other half": {
    file: "src/app/circle-b.ts",
    source: 'import { a } from "./circle-a.ts";\nexport const b: () => unknown = () => a;\n',
    rule: "no-cycle",
  },
  "a promise that is not awaited": {
    file: "src/app/floating.ts",
    source: "async function save(): Promise<void> {\n  await Promise.resolve();\n}\nsave();\n",
    rule: "no-floating-promises",
  },
  "a promise where a condition or callback is meant": {
    file: "src/app/misused.ts",
    source: "export const each = (): void => [1].forEach(async () => {\n  await Promise.resolve();\n});\n",
    rule: "no-misused-promises",
  },
  "an explicit any": {
    file: "src/app/any.ts",
    source: "export function read(body: any): unknown {\n  return body;\n}\n",
    rule: "no-explicit-any",
  },
  "a cast of wire data": {
    file: "src/app/cast.ts",
    source: "export const read = (body: unknown): string => body as string;\n",
    rule: "no-unsafe-type-assertion",
  },
  "wire data that becomes typed by an annotation": {
    file: "src/app/annotation.ts",
    source:
      "export const read = (text: string): void => {\n  const body: { a: string } = " +
      "JSON.parse(text);\n  void body;\n};\n",
    rule: "no-unsafe-assignment",
  },
  "a non-null assertion": {
    file: "src/app/non-null.ts",
    source: "export const length = (text?: string): number => text!.length;\n",
    rule: "no-non-null-assertion",
  },
};

for (const layer of ["domain", "app"]) {
  for (const call of ["Date.now", "performance.now", "Math.random"]) {
    SOURCES[`${call} in ${layer}, past the ports`] = {
      file: `src/${layer}/${call}.ts`,
      source: `export const value = ${call}();\n`,
      rule: "no-restricted-properties",
    };
  }
}

let folder: string;
let refused: Map<string, string[]>;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-linter-"));
  await copyFile(path.join(ROOT, ".oxlintrc.json"), path.join(folder, ".oxlintrc.json"));
  // The project's own compiler options, without the packages: what an import names is not needed to refuse
  // it.
  const options = {
    extends: path.join(ROOT, "tsconfig.json"),
    compilerOptions: { types: [] },
    include: ["src"],
  };
  await write("tsconfig.json", JSON.stringify(options));
  for (const { file, source } of Object.values(SOURCES)) await write(file, source);
  const linted = await command("oxlint", ["--type-aware", "--format=json", folder], {
    cwd: folder,
    signal: AbortSignal.timeout(540_000),
  });
  refused = rulesByFile(linted.output);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the linter refuses", () => {
  it.each(Object.entries(SOURCES))("%s", (_what, { file, rule }) => {
    expect(refused.get(file) ?? []).toContain(rule);
  });
});

async function write(file: string, source: string): Promise<void> {
  const target = path.join(folder, file);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, source);
}

/** The names of the rules that refused each file, from oxlint's JSON output. */
function rulesByFile(output: string): Map<string, string[]> {
  const { diagnostics } = JSON.parse(output) as { diagnostics: { code?: string; filename: string }[] };
  const rules = new Map<string, string[]>();
  for (const { code = "", filename } of diagnostics) {
    const file = path.relative(folder, path.resolve(folder, filename)).replaceAll(path.sep, "/");
    rules.set(file, [...(rules.get(file) ?? []), code.replace(/^.*\((.*)\)$/, "$1")]);
  }
  return rules;
}
