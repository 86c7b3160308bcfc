import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { readResults } from "../bench/results.ts";
import { ROOT } from "./command.ts";

/** PostgreSQL's own features: row in docs/reference/databases.md to a pattern of the SQL that uses it. */
const FEATURES: Readonly<Record<string, RegExp>> = {
  "PL/pgSQL functions": /language plpgsql/,
  "functions that return tables": /returns table/,
  "arrays of composite types": /\b(ledger_call|ledger_ending)\[\]/,
  "`json_populate_recordset`": /json_populate_record/,
  "`#variable_conflict`": /#variable_conflict/,
  "loops over queries, cursors": /^\s*for \w+ in$|refcursor/m,
  "`perform` and `get diagnostics`": /\bperform\b|get diagnostics/,
  "exception blocks": /exception when/,
  "settings of a function": /enable_seqscan = off/,
  "kept plans": /set plan_cache_mode/,
  "lateral subqueries": /\blateral \(/,
  "`offset 0`": /\boffset 0\b/,
  "row types of a view": /::issued_receipt/,
  "`security definer`": /security definer/,
  "statement triggers": /for each statement execute function/,
  "row triggers": /for each row execute function/,
  "`NOTIFY`": /pg_notify/,
  "advisory locks of the transaction": /pg_advisory_xact_lock/,
  "advisory locks of the session": /pg_advisory_lock\(/,
  "`for update`, `for no key update`": /for update[^]*for no key update|for no key update[^]*for update/,
  "`skip locked`": /skip locked/,
  "`ctid`": /\bctid\b/,
  "unlogged tables": /unlogged table/,
  "ids in the order of transactions' times": /default ledger_id\(\)/,
  "READ COMMITTED": /READ COMMITTED/,
  "a snapshot over several statements": /isolation level repeatable read/,
  "partial indexes": /create (unique )?index .* where /,
  "covering indexes": /\) include \(/,
  "indexes by pattern": /text_pattern_ops/,
  "unique rules over all accounts": /transfer_kind_ref_unique/,
  "`on conflict`": /on conflict/,
  "data-modifying `with`": /with \w+ as \(\s*(insert|update|delete)\b/,
  "`infinity` as a time": /'infinity'/,
  "`json` that keeps its text": /^\s*result json,?$/m,
  "storage parameters": /fillfactor/,
  "partitions by range": /partition by range/,
  "`(x).*` of composite values": /\(\w+(\[[^\n]*\])?\)\.\*/,
  "`update … set (a, b) = (select …)`": /, \(\w+(, \w+)+\) = \(\s*select/,
  "`grouping sets`": /grouping sets \(/,
  "`uuid_send`": /uuid_send\(/,
  "foreign keys": /_foreign references /,
  "rights on single columns": /grant insert \(id, /,
  "rights and triggers read from the catalog":
    /has_table_privilege\([^]*join pg_trigger|join pg_trigger[^]*has_table_privilege\(/,
  "time limits of a session": /\block_timeout: /,
  "`pg_stat_activity`": /from pg_stat_activity/,
  "`pg_cancel_backend`": /pg_cancel_backend\(/,
  "`synchronous_commit` off for one transaction": /set_config\('synchronous_commit', 'off', true\)/,
  "`fsync`, `full_page_writes` reported as on, `synchronous_commit` not as off":
    /current_setting\('fsync'\)[^]*current_setting\('synchronous_commit'\)[^]*current_setting\('full_page_writes'\)/,
};

let page: string;
let databases: string;
let source: string;
beforeAll(async () => {
  page = await readFile(path.join(ROOT, "docs/explanation/scaling.md"), "utf8");
  databases = await readFile(path.join(ROOT, "docs/reference/databases.md"), "utf8");
  const folder = path.join(ROOT, "src/postgres");
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(?:ts|sql)$/.test(name));
  const files = await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")));
  source = files.join("\n");
});

describe("docs/explanation/scaling.md", () => {
  it("leaves no PostgreSQL feature in use out of databases.md", () => {
    const used = Object.entries(FEATURES).filter(([, mark]) => mark.test(source));
    expect(rowsUnder(databases, "Features in use").sort()).toEqual(used.map(([name]) => name).sort());
  });

  it("lists every table under sharding", () => {
    const tables = Array.from(
      source.matchAll(/^create (?:unlogged )?table (\w+)(?! partition of)\b/gm),
      ([, name = ""]) => name,
    );
    const reported = rowsUnder(page, "Cells").flatMap((row) => row.match(/\w+/g) ?? []);
    expect(tables.length).toBeGreaterThan(15);
    expect(reported.sort()).toEqual([...new Set(tables)].sort());
  });

  it("counts the connections of an instance", async () => {
    const count = /const CONNECTIONS = (\d+);/;
    const console = Number(count.exec(await postgresFile("accounts/account-queries.ts"))?.[1]);
    const operators = Number(count.exec(await postgresFile("accounts/lazy-operator-stores.ts"))?.[1]);
    const audit = Number(count.exec(await postgresFile("operations/audit.ts"))?.[1]);
    expect([console, operators, audit]).toEqual([5, 2, 2]);
    // One more each for health, notifications and the session lock.
    expect(page).toContain(`(\`DATABASE_POOL\` + ${console + operators + audit + 3})`);
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
