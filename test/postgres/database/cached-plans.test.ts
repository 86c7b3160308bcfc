import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallAuthorization, RunEnd } from "../../../src/app/calls/ledger.ts";
import { Leases } from "../../../src/postgres/ledger/leases.ts";
import { PostgresLedger } from "../../../src/postgres/ledger/ledger.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { PostgresRateLimiter } from "../../../src/postgres/accounts/rate-limiter.ts";
import { systemClock } from "../../../src/system.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expireLeases,
  failed,
  makeAccount,
  makeKey,
  newRunId,
  openInstance,
  paymentOf,
  endRun,
  idOf,
  silent,
} from "../fixture.ts";
import { fillLedger } from "../large-ledger.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";

const INSTANCE = randomUUID();

const database = await openDatabase();
/** The gateway's only connection, which logs its plans. */
let pool: Pool;
/** For the test's own statements. */
const outside = closing(openPool(database.url, { max: 1, applicationName: "outside" }));
let ledger: PostgresLedger;
/** Columns of each unique index. */
let keys: Map<string, string[]>;
/** Plans of statements, including those in functions. */
const plans: string[] = [];

// Autovacuum would change the plans at random times.
await outside.query(
  `do $$ declare name text; begin
     for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
     loop
       execute format('alter table %I set (autovacuum_enabled = off)', name);
     end loop;
   end $$`,
);

/** Opens a new gateway instance. */
async function open(): Promise<void> {
  const { rows } = await outside.query<{ name: string; columns: string[] }>(
    `select indexrelid::regclass::text as name,
            array(select attname::text from pg_attribute where attrelid = indexrelid
              order by attnum) as columns
     from pg_index join pg_class on pg_class.oid = indrelid
     where relnamespace = 'public'::regnamespace and indisunique`,
  );
  keys = new Map(rows.map(({ name, columns }) => [name, columns]));
  pool = openPool(database.url, { max: 1, applicationName: "cached plans" });
  await pool.query(
    `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
     set auto_explain.log_level = notice`,
  );
  const client = await pool.connect();
  client.on("notice", ({ message }) => plans.push(message ?? ""));
  client.release();
  const own = { pool, instanceId: INSTANCE, leaseMs: 60_000 };
  ledger = new PostgresLedger({ ...own, leases: new Leases({ ...own, log: silent }) });
}

const begin = async (calls: readonly CallAuthorization[]) =>
  (await Promise.all(calls.map((call) => ledger.authorize(call)))).map(({ kind }) => kind);
const finish = (endings: readonly RunEnd[]) => Promise.all(endings.map((ending) => endRun(ledger, ending)));

/** A separate statement, so the function does not cache its plan. */
const ASIDE = /Query Text: select available from account/;

const SCAN =
  /\b(?:Seq|Index|Index Only|Bitmap Index) Scan\b(?: using (\w+))?[^\n]* on (\w+)[^\n]*\n?([^\n]*)/g;

/** Scans that use no unique index, with their statement. */
function otherReads(): string[] {
  return plans
    .filter((plan) => !ASIDE.test(plan))
    .flatMap((plan) => Array.from(plan.matchAll(SCAN), (scan) => ({ scan, plan })))
    .filter(({ scan: [, using, on = "", condition = ""] }) => !isByKey(using ?? on, condition))
    .map(({ scan, plan }) => `${scan[0]} for ${plan.slice(0, 300)}`);
}

/** Whether the scan finds one row per value. Active runs are few, and webhook endpoints of an account. */
function isByKey(index: string, condition: string): boolean {
  if (index === "webhook_endpoint_slot_unique") return condition.includes("account_id =");
  if (/^run_\w+_status_account_id_id_idx$/.test(index))
    return condition.includes("(status)::text = 'active'::text");
  const columns = keys.get(index);
  return (
    columns !== undefined &&
    condition.includes("Index Cond: ") &&
    columns.every((column) =>
      [`(${column} = `, `((${column})::text = `].some((its) => condition.includes(its)),
    )
  );
}

/** Growing tables. */
const GROWING =
  "account, api_key, budget, idempotency, payment, rate_bucket, receipt, relay, " +
  "relay_budget, run, transfer";

/** Truncates all tables, including the append-only ones. */
async function empty(): Promise<void> {
  await outside.query("set session_replication_role = replica");
  await outside.query(`truncate ${GROWING} cascade`);
  await outside.query("reset session_replication_role");
}

/** One of each kind of row. */
async function started(): Promise<void> {
  const { ledger: first, ...instance } = openInstance(database.url);
  const accountId = await makeAccount(outside, 1_000_000n);
  const call = callOf(accountId, {
    idempotencyKey: newRunId(),
    ...(await makeKey(outside, accountId, { perDay: 1_000_000n })),
  });
  for (const one of [call, callOf(accountId, { payment: paymentOf(depositOf()) })]) {
    await first.authorize(one);
    await first.capture(completed(one));
  }
  await instance.close();
}

/** Order matters: each state builds on the one before. */
const STATES: readonly [string, () => Promise<unknown>][] = [
  // As those of each new month.
  ["the tables were new", empty],
  ["the tables were empty", () => outside.query("analyze")],
  [
    "each table had one row",
    async () => {
      await empty();
      await started();
      await outside.query("analyze");
    },
  ],
  [
    "each table had a few rows",
    async () => {
      await empty();
      const { ledger: first, ...instance } = openInstance(database.url);
      const accountId = await makeAccount(outside, 1_000_000n);
      const [active, ...others] = Array.from({ length: 6 }, () => callOf(accountId));
      if (active) await first.authorize(active);
      for (const call of others) {
        await first.authorize(call);
        await first.capture(completed(call));
      }
      await instance.close();
      await outside.query("analyze");
    },
  ],
  [
    "the tables had no statistics",
    async () => {
      await empty();
      await fillLedger(database.url, 20_000, 5000);
      await outside.query("insert into rate_bucket (bucket_id, tat) select id, 0 from api_key");
    },
  ],
  ["the statistics were current", () => outside.query("analyze")],
  [
    "the tables had been emptied",
    async () => {
      await empty();
      await outside.query(`vacuum ${GROWING}`);
    },
  ],
];

const KINDS: readonly [string, (accountId: string) => Promise<CallAuthorization>][] = [
  ["from the balance", async (accountId) => callOf(accountId)],
  ["with a key", async (accountId) => callOf(accountId, { idempotencyKey: newRunId() })],
  ["by proof", async (accountId) => callOf(accountId, { payment: paymentOf(depositOf()) })],
  [
    "by proof with a key",
    async (accountId) => callOf(accountId, { idempotencyKey: newRunId(), payment: paymentOf(depositOf()) }),
  ],
  [
    "with a limit per day",
    async (accountId) => callOf(accountId, await makeKey(outside, accountId, { perDay: 1_000_000n })),
  ],
];

describe.each(STATES)("plans cached when %s", (_state, prepare) => {
  beforeAll(async () => {
    await prepare();
    await open();
  });
  afterAll(() => pool.end());

  it("renews leases by primary key", async () => {
    plans.length = 0;
    const runIds = [newRunId().slice(4)];
    await pool.query("select ledger_heartbeat($1, $2, interval '1 minute')", [runIds, INSTANCE]);
    expect(plans.length).toBeGreaterThan(0);
    expect(otherReads()).toEqual([]);
  });

  it.each(KINDS)("authorizes, ends and replays a call %s by unique keys only", async (_kind, make) => {
    const accountId = await makeAccount(outside, 1_000_000_000n);
    plans.length = 0;
    for (const end of [completed, failed]) {
      const calls = await Promise.all(Array.from({ length: 3 }, () => make(accountId)));
      expect(await begin(calls)).toEqual(calls.map(() => "started"));
      await finish(calls.map((call) => end(call)));
      const again = calls.map((call) => ({ ...call, runId: newRunId() }));
      await begin(again);
      await finish(again.map((call) => failed(call)));
      for (const call of calls) {
        const { reference: txSignature, quoteId } = call.payment ?? depositOf();
        await ledger.findPrior({
          ...call,
          idempotencyKey: newRunId(),
          network: SOLANA,
          reference: txSignature,
          quoteId,
        });
      }
    }
    expect(plans.length).toBeGreaterThan(40);
    expect(otherReads()).toEqual([]);
  });

  it("reads refused calls, credited payments and swept runs by unique keys only", async () => {
    const poor = await makeAccount(outside, 0n);
    const accountId = await makeAccount(outside, 1_000_000_000n);
    plans.length = 0;
    const short = depositOf({ amount: 1n });
    const refused = [{ idempotencyKey: newRunId() }, { payment: paymentOf(short) }];
    expect(await begin(refused.map((of) => callOf(poor, of)))).toEqual(["insufficient", "insufficient"]);
    const credited = depositOf();
    await ledger.credit(accountId, credited);
    const call = callOf(accountId, { payment: paymentOf(credited), idempotencyKey: newRunId() });
    const swept = callOf(accountId, {
      idempotencyKey: newRunId(),
      ...(await makeKey(outside, accountId, { perDay: 1_000_000n })),
    });
    expect(await begin([call, swept])).toEqual(["started", "started"]);
    await expireLeases(outside, call, swept);
    await pool.query("select ledger_sweep(100)");
    expect(otherReads()).toEqual([]);
  });

  it("reads rate limit buckets by primary key only", async () => {
    plans.length = 0;
    const rates = new PostgresRateLimiter({ pool, clock: systemClock });
    const [accountId, tier] = [idOf("acct"), { ratePerMinute: 60, burst: 10 }];
    for (let turn = 0; turn < 2; turn++) {
      await Promise.all(
        Array.from({ length: 3 }, async () =>
          rates.take({ keyId: idOf("key"), accountId, tier, accountTier: tier }),
        ),
      );
    }
    expect(plans.length).toBeGreaterThan(3);
    expect(otherReads()).toEqual([]);
  });
});
