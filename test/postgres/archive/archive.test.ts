import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ArchiveMonths } from "../../../src/app/operations/archive/archive-months.ts";
import { ARCHIVED_TABLES, type MonthStore } from "../../../src/app/operations/archive/month-archive.ts";
import { columnsOf, pageOfMonth } from "../../../src/postgres/archive/month-tables.ts";
import { decodeRows, encodeRows } from "../../../src/archive/parquet.ts";
import { systemClock } from "../../../src/system.ts";
import { inTransaction, PRICE } from "../fixture.ts";
import { JUNE, MAY, openArchiveWorld } from "./archive-fixture.ts";

/** The tests follow each other on one database: each leaves both months in the tables. */
const world = await openArchiveWorld();
expect(await world.audit()).toEqual([]);

async function count(table: string): Promise<bigint> {
  const { rows } = await world.instance.pool.query<{ count: bigint }>(`select count(*) from ${table}`);
  return rows[0]!.count;
}

const COUNTED = "update usage_mark set counted_to = now()";

/** Everything that the two tables hold. */
async function content(): Promise<unknown[]> {
  const { rows } = await world.instance.pool.query(
    `select row_to_json(run)::text as row from run union all select row_to_json(receipt)::text from receipt
     order by 1`,
  );
  return rows;
}

/** Files of a month, their manifest last. */
async function files(month: string): Promise<string[]> {
  const names = await readdir(path.join(world.folder, month), { recursive: true });
  return names.filter((name) => name.includes(".")).toSorted();
}

/** Changes rows as only the tables' owner can. */
async function tamper(sql: string): Promise<void> {
  await world.instance.pool.query(`begin; set local session_replication_role = replica; ${sql}; commit`);
}

/** A store whose process ends before a step. */
function crashing(store: MonthStore, step: keyof MonthStore): MonthStore {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (name === step) return () => Promise.reject(new Error("the process ends here"));
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function crashingMonths(step: keyof MonthStore): ArchiveMonths {
  const store = crashing(world.store, step);
  return new ArchiveMonths({ archive: world.archive, store, clock: systemClock, keptMonths: 2 });
}

describe("archiving a month", () => {
  it.each(ARCHIVED_TABLES)("reads the table %s along its index", async (table) => {
    const { pool } = world.instance;
    const columns = await columnsOf(pool, table);
    const lowest = "'00000000-0000-0000-0000-000000000000'";
    const page = pageOfMonth(MAY, table, columns).replaceAll("$1", lowest).replace("$2", lowest);
    await inTransaction(pool, async (client) => {
      // It sorts only if it has to.
      await client.query("set local enable_seqscan = off; set local enable_sort = off");
      const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain ${page}`);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toContain(`${table}_2026_05_account_id_id_idx`);
      expect(plan).not.toContain("Sort");
    });
  });

  it("refuses a month that has to stay, and leaves it as it was", async () => {
    const made = [
      [
        "update run_2026_05 set status = 'active' where id = (select min(id::text)::uuid from run_2026_05)",
        "update run_2026_05 set status = 'completed' where status = 'active'",
        "1 runs have not ended",
      ],
      [
        `insert into idempotency (account_id, key, fingerprint, state, run_id, result, expires_at)
         select account_id, 'key:1', sha256(''), 'done', id, '{}', now() + interval '1 day'
         from run_2026_05 limit 1`,
        "delete from idempotency where key = 'key:1'",
        "1 answers are stored",
      ],
      [
        `insert into sandbox_run (run_id, account_id, created_at)
         select id, account_id, now() from run_2026_05 limit 1`,
        "delete from sandbox_run",
        "1 executions of code",
      ],
      [
        "create table kept as select * from audit_seal; delete from audit_seal",
        "insert into audit_seal select * from kept; drop table kept",
        "7 receipts or runs are not sealed",
      ],
      ["update usage_mark set counted_to = '2026-05-31'", COUNTED, "usage is not counted"],
      ["update usage_mark set counted_to = '-infinity'", COUNTED, "usage is not counted"],
      [
        `update receipt_2026_05 set tool = 'other' where id = (
           select min(id::text)::uuid from receipt_2026_05)`,
        "update receipt_2026_05 set tool = 'vram_estimate'",
        "changed since they were sealed",
      ],
    ];
    for (const [change = "", undo = "", problem = ""] of made) {
      await tamper(change);
      await expect(world.months.archive(MAY), problem).rejects.toThrow(problem);
      expect(await count("archive_month")).toBe(0n);
      await tamper(undo);
    }
    expect(await count("receipt_2026_05")).toBe(7n);
  });

  it("refuses a month that is young or unknown", async () => {
    const text = "select to_char(now(), 'YYYY-MM') as month";
    const { rows } = await world.instance.pool.query<{ month: string }>(text);
    await expect(world.months.archive(rows[0]!.month)).rejects.toThrow("has to stay");
    await expect(world.months.archive("2019-01")).rejects.toThrow("has no partition");
    await expect(world.months.restore(JUNE)).rejects.toThrow("is not archived");
  });

  it("drops nothing when a file does not hold what the table holds, and uses the files otherwise", async () => {
    const { store, archive, months } = world;
    const crashed = crashingMonths("drop");
    await expect(crashed.archive(MAY)).rejects.toThrow("ends here");
    const written = await files(MAY);
    expect(written.map((name) => path.basename(name))).toEqual([
      "receipt-000000.parquet",
      "run-000000.parquet",
      "manifest.json",
    ]);
    const tables = { run: await store.table(MAY, "run"), receipt: await store.table(MAY, "receipt") };
    await expect(archive.write(MAY, tables)).rejects.toMatchObject({
      cause: { message: expect.stringContaining("manifest.json exists already") },
    });

    // Seals do not cover runs.
    const first = "where id = (select min(id::text)::uuid from run_2026_05)";
    await tamper(`update run_2026_05 set price = price + 1 ${first}`);
    await expect(months.archive(MAY)).rejects.toThrow(/run .* differs in price/);
    await tamper(`update run_2026_05 set price = price - 1 ${first}`);
    expect(await count("receipt_2026_05")).toBe(7n);
  });

  it("drops what was verified, keeps every invariant, and brings back the same rows", async () => {
    const { months } = world;
    const before = await content();
    await months.archive(MAY);
    expect([await count("run"), await count("receipt")]).toEqual([3n, 3n]);
    const [archived, ...others] = await months.list();
    expect(others).toEqual([]);
    expect(archived).toMatchObject({ month: MAY, runs: 8n, receipts: 7n, charged: 7n * PRICE });
    await expect(months.archive(MAY)).rejects.toThrow("archived already");
    expect(await world.audit()).toEqual([]);
    expect(await world.audit(true)).toEqual([]);

    await months.archive(JUNE);
    expect(await count("run")).toBe(0n);
    expect(await world.audit(true)).toEqual([]);
    await months.verify(MAY);
    await months.restore(MAY);
    expect(await world.audit(true)).toEqual([]);
    await months.restore(JUNE);
    expect(await content()).toEqual(before);
    expect(await months.list()).toEqual([]);
    expect(await world.audit(true)).toEqual([]);
  });

  it("finds one micro-USD that was changed in a file, and what was changed beside it", async () => {
    const { months, store } = world;
    await months.archive(MAY);
    const { columns } = await store.table(JUNE, "receipt");
    const [name] = await files(MAY);
    const file = path.join(world.folder, MAY, name!);
    const bytes = await readFile(file);
    const [row, ...rest] = await decodeRows(columns, bytes);
    const changed = { ...row, debited: String(BigInt(row!["debited"]!) - 1n) };
    await writeFile(file, encodeRows(columns, [changed, ...rest]));
    const damaged = {
      message: expect.stringContaining(MAY),
      cause: { message: expect.stringMatching("damaged") },
    };
    await expect(months.verify(MAY)).rejects.toMatchObject(damaged);
    await expect(months.restore(MAY)).rejects.toMatchObject(damaged);
    expect(await count("archive_month")).toBe(1n);
    await writeFile(file, bytes);

    await tamper("update archive_use set charged = charged - 1");
    await expect(months.verify(MAY)).rejects.toThrow("do not agree");
    expect(await world.audit()).toContain("archived_uses");
    await tamper("update archive_use set charged = charged + 1");
    await tamper("update transfer set note = 'other'");
    expect(await world.audit(true)).toContain("seals");
    await expect(months.restore(MAY)).rejects.toThrow("entries have changed since they were sealed");
    expect(await world.audit(true)).toContain("seals");
    await tamper("update transfer set note = 'test'");
    await months.restore(MAY);
    expect(await world.audit(true)).toEqual([]);
  });

  it("can be repeated after each step of archiving and restoring that a process ended before", async () => {
    const { months } = world;
    const before = await content();
    for (const step of ["freeze", "requireUnchanged", "table", "totals", "drop"] as const)
      await expect(crashingMonths(step).archive(MAY), step).rejects.toThrow("ends here");
    await months.archive(MAY);
    const steps = ["requireUnchanged", "prepare", "fill", "totals", "requireSealed", "attach"] as const;
    for (const step of steps) {
      await expect(crashingMonths(step).restore(MAY), step).rejects.toThrow("ends here");
      expect(await world.audit(true), step).toEqual([]);
    }
    await months.restore(MAY);
    expect(await content()).toEqual(before);
    expect(await world.audit(true)).toEqual([]);
  });

  it("refuses to restore receipts other than those that were sealed, whatever the files say", async () => {
    const { months, store, archive } = world;
    await months.archive(MAY);
    // An owner of the files and the database changes them so that they agree.
    const forged = new Proxy(archive, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (name === "rows") {
          return async function* (...[month, table]: Parameters<typeof archive.rows>) {
            for await (const rows of archive.rows(month, table))
              yield rows.map((row) => (table === "receipt" ? { ...row, tool: "other" } : row));
          };
        }
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const forger = new ArchiveMonths({ archive: forged, store, clock: systemClock, keptMonths: 2 });
    await expect(forger.restore(MAY)).rejects.toThrow(
      "receipts of 2026-05 have changed since they were sealed",
    );
    expect(await count("archive_month")).toBe(1n);
    await months.restore(MAY);
    expect(await world.audit(true)).toEqual([]);
  });
});
