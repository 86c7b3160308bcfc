import pg from "pg";
import { describe, expect, it } from "vitest";
import { AFTER_ALL_ENTRIES, entryRange } from "../../../src/postgres/database/entry-ids.ts";
import { readSqlSchema } from "../../../src/postgres/database/sql-files.ts";
import { BEGIN_DEPOSIT, DEPOSIT, DEPOSITS_PAGE } from "../../../src/postgres/deposits/deposits.ts";
import {
  ENTRIES_PAGE,
  ENTRIES_SUM,
  ENTRIES_TOTAL,
  SETTLED_ENTRY,
} from "../../../src/postgres/accounts/entries.ts";
import { BALANCES } from "../../../src/postgres/ledger/insufficient-funds.ts";
import {
  filteredReceiptsPage,
  PostgresReceipts,
  receiptsPage,
} from "../../../src/postgres/ledger/history.ts";
import { filteredRunsPage, PostgresRuns, runsPage } from "../../../src/postgres/ledger/runs.ts";
import { suspensePage } from "../../../src/postgres/treasury/suspense.ts";
import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";
import { SUSPENDED, UNFINALIZED, UNRECORDED } from "../../../src/postgres/treasury/treasury-ledger.ts";
import { USAGE } from "../../../src/postgres/accounts/usage.ts";
import { closing } from "../../support/postgres.ts";
import { openLedger, inTransaction } from "../fixture.ts";

const ROWS = 100_000;
/** The statement of claims_forget, with numbered parameters. */
const FORGET_CLAIMS = bodyOf("functions/claims_forget")
  .replace("since", "$1")
  .replace("limit most", "limit $2");
/** A list with a parameter that can widen it has no cheap generic plan, so PostgreSQL does not cache one. */
const CUSTOM = "force_custom_plan";
const GENERIC = "force_generic_plan";
/** The number in a receipt's quote, in SQL. */
const NUMBER = "substr(quote_id, 4)::bigint";
/** A token account, in SQL. */
const TOKEN = "decode(repeat('01', 32), 'hex')";

const { database, one } = await openLedger();
const accountId = await one.account();
/** One connection, without a statement timeout: filling large tables takes long on a busy machine. */
const pool = closing(new pg.Pool({ connectionString: database.url, max: 1, idleTimeoutMillis: 0 }));
// The connection may still be closing when the database is dropped.
pool.on("connect", (client) => client.on("error", () => {}));

function bodyOf(file: string): string {
  const text = readSqlSchema().repeatable.find(({ path }) => path === file)?.text;
  return text?.split("$$")[1] ?? "";
}

/** The generic or custom plan of a statement, with all plan types enabled. */
async function planOf(
  statement: string,
  values: readonly string[],
  how = "",
  mode = GENERIC,
): Promise<string> {
  await pool.query(`set plan_cache_mode = ${mode}`);
  await pool.query(`prepare planned as ${statement}`);
  const { rows } = await pool.query<{ "QUERY PLAN": string }>(
    `explain (costs off${how}) execute planned ${values.length === 0 ? "" : `(${values.join(", ")})`}`,
  );
  await pool.query("deallocate planned; reset plan_cache_mode");
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

/** How often a statement is planned that runs ten times. */
async function plansOf(statement: string, values: readonly string[]): Promise<number> {
  await pool.query(`prepare planned as ${statement}`);
  for (let run = 0; run < 10; run++) await pool.query(`execute planned (${values.join(", ")})`);
  const { rows } = await pool.query<{ custom_plans: bigint }>(
    "select custom_plans from pg_prepared_statements where name = 'planned'",
  );
  await pool.query("deallocate planned");
  return Number(rows[0]?.custom_plans);
}

/** Rows returned by a statement, and 8 kB pages read. */
async function readBy(statement: string, values: readonly string[], mode?: string) {
  const plan = await planOf(statement, values, ", analyze, buffers, timing off, summary off", mode);
  const sum = (pattern: RegExp) => Number(pattern.exec(plan)?.[1] ?? 0);
  return { rows: sum(/rows=(\d+)/), read: sum(/shared hit=(\d+)/) + sum(/read=(\d+)/) };
}

describe("a database with a hundred thousand rows", () => {
  it("deletes expired claims along their index, whether few or all have expired", async () => {
    for (const expiring of [0, 1_000, ROWS]) {
      await pool.query("truncate idempotency");
      await pool.query(
        `insert into idempotency (account_id, key, fingerprint, state, run_id, expires_at)
         select $1, 'key:' || n, decode(repeat('00', 32), 'hex'), 'retryable', gen_random_uuid(),
                case when n <= $2 then now() - interval '1 day' + n * interval '1 millisecond'
                  else 'infinity' end
         from generate_series(1, ${ROWS}) n`,
        [accountId.slice(5), expiring],
      );
      await pool.query("analyze idempotency");
      const plan = await planOf(FORGET_CLAIMS, ["'-infinity'", "100"]);
      expect(plan).toContain("idempotency_expires_at_index");
      expect(plan).not.toContain("Seq Scan");
    }
    // Deleted rows stay in the index while an open snapshot can see them.
    await inTransaction(one.pool, async (reader) => {
      await reader.query("set transaction isolation level repeatable read");
      await reader.query("select from account");
      const { rows } = await pool.query<{ max: Date }>(
        FORGET_CLAIMS.replace("$1", "'-infinity'").replace("$2", String(ROWS / 2)),
      );
      const from = `'${rows[0]?.max.toISOString()}'`;
      const next = await readBy(FORGET_CLAIMS, [from, "100"]);
      const again = await readBy(FORGET_CLAIMS, ["'-infinity'", "100"]);
      expect(next.read).toBeLessThan(1_000);
      expect(again.read).toBeGreaterThan(2 * next.read);
    });
  });

  it("lists rare rows without reading more than it returns", async () => {
    const account = accountId.slice(5);
    await pool.query(
      `insert into run (id, account_id, tool, status, lease_until, price, paid_by)
       select lpad(to_hex(n), 32, '0')::uuid, $1, case when n % 50 = 0 then 'rare' else 't' end, case
         when n % 10000 = 0 then 'failed' else 'completed' end, now(), 5, 'balance'
       from generate_series(1, ${ROWS}) n`,
      [account],
    );
    await pool.query(
      `insert into receipt (id, run_id, account_id, tool, quote_id, network, reference, quoted, debited,
          paid_by, created_at)
       select ledger_id(at), id, account_id, tool, 'qt_' || n, 'solana-mainnet',
         decode(repeat(md5(id::text), 4), 'hex'), price, price, 'transfer', at
       from (select *, row_number() over (order by id) as n from run) numbered
       cross join lateral (select now() - interval '30 days' + n * interval '20 seconds' as at) dated`,
    );
    await pool.query(
      `insert into payment (network, reference, account_id, quote_id, amount, settled, fingerprint,
         claim_key,
          slot, block_time, finalized, reversed, paid_by)
       select network, reference, account_id, quote_id, 5, true, decode(repeat('00', 32), 'hex'),
         'key', 1, now(), ${NUMBER} % 20000 <> 1, ${NUMBER} % 20000 = 1, 'transfer'
       from receipt`,
    );
    await pool.query(
      `insert into transfer (debit, credit, amount, kind, ref, created_at)
       select gen_random_uuid(), account_id, 5, 'refund', uuid_send(run_id), now() from receipt
         where ${NUMBER} % 20000 = 0
       union all
       select account_id, gen_random_uuid(), 5, 'reversal', payment_ref(network, reference), now()
       from receipt
         where ${NUMBER} % 20000 = 1`,
    );
    await pool.query("analyze run, receipt, transfer, payment");
    const lists = [
      [receiptsPage("refunded"), 5],
      [receiptsPage("reversed"), 5],
      [receiptsPage("final"), 20],
      [receiptsPage(undefined), 20],
      [runsPage("failed"), 10],
      [runsPage("cancelled"), 0],
      [runsPage(undefined), 20],
    ] as const;
    // A custom plan expects few rows of the lowest and the highest account, and this one is both.
    const page = [`'${account}'`, "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "20"];
    for (const mode of [GENERIC, CUSTOM])
      for (const [statement, shown] of lists) {
        const { rows, read } = await readBy(statement, page, mode);
        expect(rows, statement).toBe(shown);
        expect(read, `${mode}: ${statement}`).toBeLessThan(1_000);
      }
    // PostgreSQL tries five custom plans before it compares.
    for (const [statement] of lists) expect(await plansOf(statement, page), statement).toBe(5);
  });

  it("lists an inactive account without reading the rows of others", async () => {
    try {
      await pool.query("begin");
      await pool.query(
        `insert into run (id, account_id, tool, status, lease_until, price, paid_by, key_id)
         select lpad(to_hex(${ROWS} + n), 32, '0')::uuid, gen_random_uuid(), 'rare', case when n % 1000 = 0
           then 'failed' else 'completed' end, now(), 5, 'balance', null
         from generate_series(1, ${ROWS}) n`,
      );
      await pool.query(
        `insert into receipt (id, run_id, account_id, tool, quoted, debited, paid_by)
         select ledger_id(), id, account_id, tool, price, price, 'balance' from run
           where id > lpad(to_hex(${ROWS}), 32, '0')::uuid`,
      );
      await pool.query("analyze run, receipt, transfer");
      const page = [`'${accountId.slice(5)}'`, "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "20"];
      const all = [
        "'rare'",
        "null",
        "'-infinity'",
        "'infinity'",
        `'${"0".repeat(32)}'`,
        `'${"f".repeat(32)}'`,
        "null",
        "null",
      ];
      const statements = [
        ...[receiptsPage(undefined), runsPage(undefined)].map((one) => [one, page, 300] as const),
        ...[filteredReceiptsPage(undefined), filteredRunsPage("completed")].map(
          (one) => [one, [...page, ...all], 20_000] as const,
        ),
        [ENTRIES_PAGE, [`'${accountId.slice(5)}'`, `'${AFTER_ALL_ENTRIES}'`, "20"], 300] as const,
      ];
      for (const [statement, values, most] of statements) {
        const { rows, read } = await readBy(statement, values, CUSTOM);
        expect(rows, statement).toBe(20);
        expect(read, statement).toBeLessThan(most);
      }
      const settled = await readBy(
        SETTLED_ENTRY,
        [`'${accountId.slice(5)}'`, `'${AFTER_ALL_ENTRIES}'`],
        CUSTOM,
      );
      expect(settled).toMatchObject({ rows: 1 });
      expect(settled.read).toBeLessThan(300);
    } finally {
      await pool.query("rollback");
    }
  });

  it("reads as many pages for every statement page as for the first", async () => {
    const account = `'${accountId.slice(5)}'`;
    // Rows rolled back by the previous test would count as read.
    await pool.query("vacuum run, account, transfer");
    const { rows } = await pool.query<{ id: string; next: string }>(
      `select id, next from (
         select id, lag(id) over (order by id) as next, row_number() over (order by id desc) as n
         from receipt
       ) numbered where n in (1, 10000, 99800) order by n`,
    );
    expect(rows).toHaveLength(3);
    for (const mode of [GENERIC, CUSTOM]) {
      const reads: number[] = [];
      for (const { id, next } of rows) {
        const [before, after] = [`'${id}'`, `'${next}'`];
        const page = await readBy(ENTRIES_PAGE, [account, before, "101"], mode);
        expect(page.rows).toBe(101);
        // Balances start from the anchor in the cursor, which is the next entry.
        const sum = await readBy(ENTRIES_SUM, [account, after, before], mode);
        const settled = await readBy(SETTLED_ENTRY, [account, before], mode);
        reads.push(page.read + sum.read + settled.read);
      }
      expect(Math.max(...reads), String(reads)).toBeLessThan(1_000);
      expect(Math.max(...reads), String(reads)).toBeLessThan(2 * Math.min(...reads));
    }
    expect((await readBy(ENTRIES_TOTAL, [account])).read).toBeLessThan(50);
  });

  it("reads about as many rows for a day's usage as the day has", async () => {
    const usage = async (from: Date, to: Date) => {
      const { low, high } = entryRange(from, to);
      const counted = `'${from.toISOString()}'`;
      return readBy(USAGE, [
        ...[`'${accountId.slice(5)}'`, `'${low}'`, `'${high}'`, counted, counted],
        ...["'hour'", "'UTC'", "null", "null", "null", "'tool'", "'[]'"],
      ]);
    };
    const { rows } = await pool.query<{ day: Date }>(
      `select date_trunc('day', min(created_at), 'UTC') + interval '10 days' as day from receipt`,
    );
    const [day = new Date()] = rows.map((row) => row.day);
    const one = await usage(day, new Date(day.getTime() + 86_400_000));
    const all = await usage(new Date(0), new Date());
    expect(one.rows).toBeGreaterThanOrEqual(24);
    expect(one.read, String([one.read, all.read])).toBeLessThan(all.read / 10);
    expect(one.read).toBeLessThan(30_000);
  });

  it("reads as many pages for every filtered page as for the first, and returns fewer rows rather than scanning on", async () => {
    const all = ["'-infinity'", "'infinity'", `'${"0".repeat(32)}'`, `'${"f".repeat(32)}'`, "null", "null"];
    const idOf = async (statement: string, n: number) => {
      const run = n.toString(16).padStart(32, "0");
      if (!statement.includes("issued_receipt")) return run;
      const { rows } = await pool.query<{ id: string }>("select id from receipt where run_id = $1", [run]);
      return rows[0]?.id;
    };
    const statements = [
      [filteredReceiptsPage(undefined), "'rare'", "null", 20],
      [filteredReceiptsPage("final"), "'rare'", "null", 20],
      [filteredReceiptsPage(undefined), "'none'", "null", 1],
      [filteredReceiptsPage(undefined), "null", `'${"0".repeat(32)}'`, 1],
      [filteredRunsPage(undefined), "'rare'", "null", 20],
      [filteredRunsPage("completed"), "'none'", "null", 1],
    ] as const;
    for (const [statement, tool, key, shown] of statements) {
      const reads: number[] = [];
      for (const n of [ROWS, ROWS - 10_000, 2_000]) {
        const before = `'${await idOf(statement, n)}'`;
        const values = [`'${accountId.slice(5)}'`, before, "20", tool, key, ...all];
        const { rows, read } = await readBy(statement, values, CUSTOM);
        expect(rows, statement).toBe(shown);
        reads.push(read);
      }
      // Scans two thousand rows, whatever matches.
      expect(Math.max(...reads), `${statement} ${String(reads)}`).toBeLessThan(20_000);
      expect(Math.max(...reads), `${statement} ${String(reads)}`).toBeLessThan(2 * Math.min(...reads));
    }
  });

  it("rejects a page that its constant limit would cut off", async () => {
    const query = { accountId, limit: 101, cursor: undefined, status: undefined };
    for (const list of [new PostgresReceipts(pool), new PostgresRuns(pool)]) {
      await expect(list.list(query)).rejects.toThrow("at most 100 rows");
      await expect(list.list({ ...query, limit: 500, filter: {} })).resolves.toBeDefined();
    }
  });

  it("plans the balances of a batch once", async () => {
    try {
      await pool.query("begin");
      await pool.query(
        "insert into account (id, wallet) select gen_random_uuid(), 'a' || n from generate_series(1, 1000) n",
      );
      await pool.query("analyze account");
      expect(await plansOf(BALANCES, [`array['${accountId.slice(5)}'::uuid]`])).toBe(5);
    } finally {
      await pool.query("rollback");
    }
  });

  it("reads only pending rows for the treasury jobs", async () => {
    // All but 30 finalized; every hundredth in suspense, 10 of those without an owner; all with movements
    // except the last thousand.
    await pool.query("truncate payment");
    await pool.query(
      `insert into payment (network, reference, account_id, quote_id, amount, settled, slot, block_time,
          finalized, paid_by, assigned_to, created_at)
       select 'solana-mainnet', sha512(int8send(n)),
         case when n % 100 = 0 then '${SYSTEM_ACCOUNTS.suspense}'::uuid
         else $1 end, case when n % 100 <> 0 then 'qt' end, 5,
              false, n, now(), n % 100 = 0 or n % 3333 <> 1, 'transfer', case when n % 100 = 0
                and n % 10000 <> 0 then $1 end, now() - interval '1 day' + n * interval '1 millisecond'
       from generate_series(1, ${ROWS}) n`,
      [accountId.slice(5)],
    );
    await pool.query(
      `insert into treasury_movement (token_account, tx_signature, slot, block_time, change)
       select ${TOKEN}, reference, slot, block_time, amount from payment where slot <= ${ROWS} - 1000`,
    );
    await pool.query("vacuum analyze payment, treasury_movement");
    const hashes = Array.from({ length: 50 }, (_, n) => `sha512(int8send(${ROWS - 1_024 + n}))`);
    const asked = `array[${hashes.join(", ")}]`;
    const newest = `decode(repeat('ff', 64), 'hex')`;
    const statements = [
      [UNFINALIZED, ["'solana-mainnet'", "60000", "20"], 20],
      [SUSPENDED, [], 1],
      [suspensePage(undefined), [newest, "20"], 20],
      [suspensePage("open"), [newest, "20"], 10],
      [suspensePage("assigned"), [newest, "20"], 20],
      [suspensePage("open"), ["sha512(int8send(50000))", "20"], 4],
      [UNRECORDED, [TOKEN, asked], 25],
    ] as const;
    for (const [statement, values, shown] of statements) {
      const { rows, read } = await readBy(statement, values);
      expect(rows, statement).toBe(shown);
      expect(read, statement).toBeLessThan(1_000);
    }
    // Every instance polls this every few seconds, so it must not read any table row.
    await pool.query("update payment set assigned_to = null where assigned_to is not null");
    await pool.query("vacuum analyze payment");
    expect(await planOf(SUSPENDED, [])).toContain("Index Only Scan using payment_open_index");
    expect((await readBy(SUSPENDED, [])).read).toBeLessThan(50);
  });

  it("finds deposits by their payments", async () => {
    const account = `'${accountId.slice(5)}'`;
    await pool.query(
      `insert into deposit (id, account_id, amount, reference, created_at)
       select lpad(to_hex(n), 32, '0')::uuid, ${account}, 5, sha256(int8send(n)),
         now() - interval '1 month' + n * interval '1 minute'
       from generate_series(1, ${ROWS / 5}) n`,
    );
    await pool.query(
      `update payment set quote_id = 'dep_' || lpad(to_hex(slot), 32, '0')
       where quote_id is not null and slot < ${ROWS / 5}`,
    );
    await pool.query("vacuum analyze deposit, payment");
    const id = (n: number) => `'${n.toString(16).padStart(32, "0")}'`;
    const statements = [
      [DEPOSIT, [account, id(10_001)], 1],
      [DEPOSITS_PAGE, [account, id(10_000), "101"], 101],
      [BEGIN_DEPOSIT, [id(ROWS), account, "5", "sha256('')", "now()", "100", "now() - interval '1 day'"], 0],
    ] as const;
    for (const [statement, values, shown] of statements) {
      const { rows, read } = await readBy(statement, values);
      expect(rows, statement).toBe(shown);
      expect(read, statement).toBeLessThan(3_000);
    }
  });
});
