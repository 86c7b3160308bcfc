import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { migrate } from "../../src/postgres/database/migrate.ts";
import { databaseUrl, query } from "../support/database-server.ts";
import { command, ROOT } from "../tooling/command.ts";
import { RECIPES } from "./recipes.ts";

/** Files written by `npm run generate` and `npm run sql`. */
const GENERATED = /^(gen|docs\/reference\/api)\/|^docs\/reference\/(tools|errors)\.md$|\/checksums\.json$/;
const VOUCHER = "test/app/payments/voucher/voucher-method.ts";
const MIGRATIONS = "src/postgres/database/sql/migrations";
const COPIED = ["docs", "gen", "package.json", "proto", "buf.yaml", "src", "test", "tsconfig.json"];

/** All recipes are performed on one copy, so that types are checked once. */
let copy = "";

beforeAll(async () => {
  copy = await mkdtemp(path.join(os.tmpdir(), "toolgate-recipes-"));
  for (const name of COPIED) await cp(path.join(ROOT, name), path.join(copy, name), { recursive: true });
  await symlink(path.join(ROOT, "node_modules"), path.join(copy, "node_modules"));
  for (const { files } of RECIPES)
    for (const [file, change] of Object.entries(files)) await apply(file, change);
  await expectSuccess("buf", ["generate", "--template", "proto/buf.gen.yaml"]);
  await expectSuccess("node", ["test/reference/main.ts"]);
  await expectSuccess("node", ["test/update-sql-checksums.ts"]);
});
afterAll(() => rm(copy, { recursive: true, force: true }));

describe.each(RECIPES)("the recipe: $heading", ({ heading, places, files }) => {
  it(`${heading}: touches at most ${places} files outside test/`, () => {
    expect(Object.keys(files).filter((file) => !file.startsWith("test/")).length).toBeLessThanOrEqual(places);
  });

  it(`${heading}: CONTRIBUTING.md names each file`, async () => {
    const text = await readFile(path.join(ROOT, "CONTRIBUTING.md"), "utf8");
    const section = text.split(`### ${heading}\n`)[1]?.split("\n## ")[0]?.split("\n### ")[0] ?? "";
    const named = [...section.matchAll(/^\d\. `([^` ]+\/[^` ]+)`/gm)].map(([, file]) => file);
    expect(new Set(named)).toEqual(new Set(Object.keys(files)));
  });
});

it("changes no other files but generated ones", async () => {
  const changed = (await Promise.all(COPIED.map(changedBelow))).flat();
  const ours = new Set(RECIPES.flatMap(({ files }) => Object.keys(files).map(numbered)));
  expect(changed.filter((file) => !ours.has(file) && !GENERATED.test(file))).toEqual([]);
  expect(changed).toEqual(
    expect.arrayContaining([...ours, "gen/errors.ts", "docs/reference/errors.md", "docs/reference/tools.md"]),
  );
});

it("has right types in the sources, their nearest tests and the console", async () => {
  const include = ["src", "gen", "test/tools", "test/transport", "test/support"];
  const options = { extends: "./tsconfig.json", include, exclude: ["src/console"] };
  await writeFile(path.join(copy, "tsconfig.recipes.json"), JSON.stringify(options));
  await expectSuccess("tsc", ["-p", "tsconfig.recipes.json", "--singleThreaded"]);
  await expectSuccess("tsc", ["-p", "src/console/tsconfig.json", "--singleThreaded"]);
});

it("keeps the layers", async () => {
  const { layersAreKept } = await import(path.join(copy, "test/tooling/layers.ts"));
  expect(await layersAreKept()).toEqual({ code: 0, output: "" });
});

it("passes the tests of the tool and the catalogue", async () => {
  const tests = [
    "test/tools/word-count.test.ts",
    "test/tools/index.test.ts",
    "test/tools/documentation.test.ts",
  ];
  await expectSuccess("vitest", [
    "run",
    "--root=.",
    "--config=test/vitest.config.ts",
    "--project=unit",
    ...tests,
  ]);
});

it("has the column in the database and in the view of receipts", async () => {
  const [server, name] = [inject("postgresUrl"), `recipes_${randomBytes(6).toString("hex")}`];
  await query(server, `create database ${name}`);
  try {
    const url = databaseUrl(server, name);
    await migrate(url, path.join(copy, MIGRATIONS, ".."));
    expect((await query(url, "select asset from issued_receipt")).rows).toEqual([]);
  } finally {
    await query(server, `drop database ${name} with (force)`);
  }
});

async function apply(file: string, change: string | ((text: string) => string)): Promise<void> {
  const target = path.join(copy, numbered(file));
  await mkdir(path.dirname(target), { recursive: true });
  if (typeof change === "function") await writeFile(target, change(await readFile(target, "utf8")));
  else await writeFile(target, change === "" ? await voucher() : change);
}

/** The voucher with imports as from src/app/payments/voucher. */
async function voucher(): Promise<string> {
  const text = await readFile(path.join(ROOT, VOUCHER), "utf8");
  return text
    .replaceAll("../../../../src/app/payments/", "../")
    .replaceAll("../../../../src/domain/", "../../../domain/");
}

async function expectSuccess(program: string, args: readonly string[]): Promise<void> {
  const { code, output } = await command(program, args, { cwd: copy });
  expect(code, `${program}: ${output}`).toBe(0);
}

/** Files that are new or differ from the project's own. */
async function changedBelow(name: string): Promise<string[]> {
  const { output } = await command("diff", ["-rqN", path.join(ROOT, name), path.join(copy, name)]);
  return [...output.matchAll(/^Files .* and (.*) differ$/gm)].map(([, file = ""]) =>
    path.relative(copy, file),
  );
}

/** Replaces NNNN by the number of the next migration. */
function numbered(file: string): string {
  const [last = "0000"] = readdirSync(path.join(ROOT, MIGRATIONS)).sort().toReversed();
  return file.replace("NNNN", String(Number(last.slice(0, 4)) + 1).padStart(4, "0"));
}
