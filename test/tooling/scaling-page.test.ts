import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readResults } from "../bench/results.ts";
import { ROOT } from "./command.ts";

let page: string;
let source: string;
beforeAll(async () => {
  page = await readFile(path.join(ROOT, "docs/explanation/scaling.md"), "utf8");
  const folder = path.join(ROOT, "src/postgres");
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(?:ts|sql)$/.test(name));
  const files = await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")));
  source = files.join("\n");
});

describe("docs/explanation/scaling.md", () => {
  it("lists every table under sharding", () => {
    const tables = Array.from(
      source.matchAll(/^create (?:unlogged )?table (\w+)(?! partition of)\b/gm),
      ([, name = ""]) => name,
    );
    const dropped = new Set(Array.from(source.matchAll(/^drop table (\w+)/gm), ([, name = ""]) => name));
    const reported = rowsUnder(page, "Cells").flatMap((row) => row.match(/\w+/g) ?? []);
    expect(tables.length).toBeGreaterThan(15);
    expect(reported.sort()).toEqual([...new Set(tables)].filter((name) => !dropped.has(name)).sort());
  });

  it("counts the connections of an instance", async () => {
    const count = /const CONNECTIONS = (\d+);/;
    const console = Number(count.exec(await postgresFile("accounts/account-queries.ts"))?.[1]);
    const operators = Number(count.exec(await postgresFile("accounts/lazy-operator-stores.ts"))?.[1]);
    const audit = Number(count.exec(await postgresFile("operations/audit-snapshot.ts"))?.[1]);
    expect([console, operators, audit]).toEqual([5, 2, 2]);
    // Two audits at once; one more each for health, notifications and the session lock.
    expect(page).toContain(`(\`DATABASE_POOL\` + ${console + operators + 2 * audit + 3})`);
  });

  it.each([
    ["bytes of log a call", "write-ahead log per call"],
    ["bytes of tables and indexes", "growth of the database per call"],
  ])("names %s close to the last measurement", async (text, measure) => {
    const { "paid-many": paid } = await readResults();
    const bytes = Number.parseInt(paid?.lines.find((line) => line.measure === measure)?.gateway ?? "", 10);
    const named = Number(new RegExp(`([\\d,]+) ${text}`).exec(page)?.[1]?.replace(",", ""));
    expect(Math.abs(named / bytes - 1), `${named} on the page, ${bytes} measured`).toBeLessThan(0.25);
  });
});

function postgresFile(name: string): Promise<string> {
  return readFile(path.join(ROOT, "src/postgres", name), "utf8");
}

/** Returns the first cells of the first table of a section. */
function rowsUnder(text: string, title: string): string[] {
  const section = text.split(`\n## ${title}\n`)[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) => row.split("|")[1]?.trim() ?? "");
}
