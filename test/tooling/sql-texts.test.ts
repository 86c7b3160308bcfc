import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT } from "./command.ts";
import { interpolations, isAboutTheDatabase } from "./sql-texts.ts";

/** Expressions of the files that read and write archived months. */
const OF_ARCHIVE: Readonly<Record<string, readonly [why: string, ...expressions: string[]]>> = {
  "src/postgres/archive/change-partitions.ts": [
    "names of a month's partitions and of columns, and constants",
    "run",
    "receipt",
    "table",
    "part",
    "range",
    "key",
    "low",
    "high",
    "partitionOf(table, month)",
  ],
  "src/postgres/archive/month-tables.ts": [
    "names of a month's partitions and of columns, and constants",
    'partitionOf("receipt", month)',
    'texts.join(", ")',
    "partitionOf(table, month)",
    'partitionOf("run", month)',
  ],
  "src/postgres/archive/months.ts": [
    "names of a month's partitions and of columns, and constants",
    "part",
    "table",
    "partitionOf(table, month)",
    "names",
    "run",
    "receipt",
  ],
  "src/postgres/archived/archived-rows.ts": [
    "names of tables and views, and numbers of parameters",
    "page",
    "table",
    "parameter",
    "id",
    'only ? "" : `select * from public.${table} union all`',
    'beside("run", "id", values.length + 1)',
    'beside("receipt", "run_id", values.length + 2)',
    "view",
    "query.text",
  ],
  "src/postgres/database/audit-check.ts": ["made of a module's constants", "bytes"],
  "src/postgres/operations/audit-checks.ts": [
    "made of a module's constants",
    'isArchived("uuid_send(claim.run_id)")',
  ],
  "src/postgres/operations/audit-sources.ts": ["made of a module's constants", 'isArchived("ref")'],
  "src/postgres/treasury/treasury-checks.ts": ["made of a module's constants", 'isArchived("transfer.ref")'],
};

/** Values that an SQL text may contain besides constants, with their origin. None comes from a request. */
const ALLOWED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(OF_ARCHIVE).flatMap(([file, [why, ...expressions]]) =>
      expressions.map((expression) => [`${file}: ${expression}`, why]),
    ),
  ),
  "src/postgres/database/entities/sql-index.ts: name": "an index of an entity",
  "src/postgres/database/entities/sql-index.ts: definition": "an index of an entity",
  "src/postgres/database/grants.ts: name": "quoted as a name",
  "src/postgres/database/grants.ts: database": "quoted as a name",
  "src/postgres/database/grants.ts: role": "told, not sent",
  "src/postgres/database/grants.ts: error.message": "told, not sent",
  "src/postgres/database/grants.ts: right": "told, not sent",
  'src/postgres/operations/timeline-sql.ts: jsonTime("expires_at")': "a constant name",
  'src/postgres/operations/timeline-sql.ts: jsonTime("block_time")': "a constant name",
  "src/postgres/database/start-checks.ts: found.mark": "told, not sent",
  "src/postgres/database/start-checks.ts: reasonOf(error)": "told, not sent",
  "src/postgres/database/pages.ts: statement": "a statement of a module, made of its constants",
  "src/postgres/database/repeatable.ts: signature": "a function's name as PostgreSQL quotes it",
  "src/postgres/database/database-errors.ts: state": "reported, not sent",
  ...Object.fromEntries(
    ["holder", "entries", "end", "condition", "limit", "sides"].map((name) => [
      `src/postgres/accounts/entries.ts: ${name}`,
      "one of a module's constants, or made of them",
    ]),
  ),
  "src/postgres/payments/sealing-keys.ts: keys.#table": "one of two names of tables that the program spells",
  "src/postgres/payments/sealing-keys.ts: this.#table": "one of two names of tables that the program spells",
  "src/postgres/operations/sealing-key-admin.ts: table": "one of a module's constants",
  "src/postgres/operations/sealing-key-admin.ts: workingKeys": "one of a module's constants",
  "src/postgres/operations/sealing-key-admin.ts: webhooks": "one of a module's constants",
  "src/postgres/operations/sealing-key-admin.ts: watchedAt": "one of a module's constants",
  'src/postgres/operations/sealing-key-admin.ts: stored === 1 ? "request" : "requests"': "told, not sent",
  "src/postgres/operations/sealing-key-admin.ts: stored": "one of a module's constants",
  "src/postgres/ledger/runs.ts: its": "one of a module's constants",
  "src/postgres/ledger/runs.ts: before": "made of a module's constants",
  "src/postgres/ledger/runs.ts: among": "made of a module's constants",
  "src/postgres/ledger/runs.ts: newest": "made of a module's constants",
  "src/postgres/ledger/history.ts: picked": "one of a module's constants",
  "src/postgres/ledger/history.ts: kept": "one of a module's constants",
  'src/postgres/treasury/suspense.ts: status === undefined ? "" : PICKS[status]':
    "one of a module's constants",
  "src/postgres/accounts/usage-sql.ts: at": "a class's number",
  "src/postgres/ledger/start-and-capture.ts: n": "a parameter's number",
  "src/postgres/ledger/start-and-capture.ts: n + 1": "a parameter's number",
  "src/postgres/ledger/start-and-capture.ts: n + 2": "a parameter's number",
  "src/postgres/operations/audit.ts: sql": "a check of the audit, all of which are constants",
  "src/postgres/operations/audit.ts: name": "the name of a check of the audit",
  "src/postgres/database/audit-check.ts: account": "an account of the ledger's own",
  "src/postgres/operations/audit-checks.ts: sumOf(revenue)": "made of a module's constants",
  "src/postgres/operations/audit-checks.ts: sumOf(treasury)": "made of a module's constants",
  "src/postgres/treasury/treasury-checks.ts: sumOf(suspense)": "made of a module's constants",
};

async function sources(): Promise<{ file: string; source: string }[]> {
  const names = await readdir(path.join(ROOT, "src"), { recursive: true });
  const files = names.filter((name) => name.endsWith(".ts")).map((name) => path.posix.join("src", name));
  return Promise.all(
    files.map(async (file) => ({ file, source: await readFile(path.join(ROOT, file), "utf8") })),
  );
}

describe("texts of SQL", () => {
  it("contain constants only: every value is sent to the database as a parameter", async () => {
    const about = (await sources()).filter(({ file, source }) => isAboutTheDatabase(file, source));
    expect(about.length).toBeGreaterThan(20);
    const found = about.flatMap(({ file, source }) =>
      interpolations(source).map(({ expression, line }) => ({ entry: `${file}: ${expression}`, line })),
    );
    expect(found.filter(({ entry }) => !(entry in ALLOWED))).toEqual([]);
    expect(Object.keys(ALLOWED).filter((allowed) => !found.some(({ entry }) => entry === allowed))).toEqual(
      [],
    );
  });

  it("exist only in files that import the database's driver", async () => {
    const elsewhere = (await sources()).filter(
      ({ file, source }) => !isAboutTheDatabase(file, source) && /\.query\(\s*[`"'{]/.test(source),
    );
    expect(elsewhere.map(({ file }) => file)).toEqual([]);
  });
});

describe("the search for SQL texts", () => {
  it.each([
    ["const f = (id) => pool.query(`select * from account where id = '${id}'`);", ["id"]],
    [
      "const f = (id) => pool.query(`SELECT 1 FROM a WHERE id = ${id.replace(`'`, '')}`);",
      ["id.replace(`'`, '')"],
    ],
    [
      'const f = (id) => pool.query("select * from account where id = \'" + id);',
      [expect.stringContaining("+")],
    ],
    ['const f = (id) => "select * from a " + "where id = " + id;', [expect.stringContaining("+")]],
    ["const f = (w) => `${SELECT} where ${w}`;", ["SELECT", "w"]],
    ["const f = (t) => db.query(`truncate ${t}`);", ["t"]],
    ["const f = (c) => pool.query(`listen ${c}`);", ["c"]],
    ["const f = (a) => `nothing ${`select ${a}`} else`;", ["a"]],
  ])("finds what %s interpolates", (source, expressions) => {
    expect(interpolations(source).map(({ expression }) => expression)).toEqual(expressions);
  });

  it.each([
    "const SELECT = `select * from run`;\nconst f = () => `${SELECT} where id = $1`;",
    'import { SYSTEM_ACCOUNTS } from "./system-accounts.ts";\nconst a = `select ' +
      "'${SYSTEM_ACCOUNTS.suspense}'`;",
    "const { treasury } = SYSTEM_ACCOUNTS;\nconst a = `where debit = '${treasury}'`;",
    'const READ = ["a", "b"];\nconst a = `grant select on ${READ.join(", ")}`;',
    "const f = (name) => `create database ${pg.escapeIdentifier(name)}`;",
    "const f = (n) => `there are ${n}`;",
    'const a = "create index i on t (a) where " +\n  "b is null";',
    "// `select ${a}`\nconst f = 1;",
    'const f = "`select ${a}`";',
  ])("accepts %s", (source) => {
    expect(interpolations(source)).toEqual([]);
  });
});
