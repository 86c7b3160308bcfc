import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CallAuthorization, RunEnd } from "../../src/app/calls/ledger.ts";
import { newId } from "../../src/domain/core/ids.ts";
import { Leases } from "../../src/postgres/leases.ts";
import { PostgresLedger } from "../../src/postgres/ledger.ts";
import { openPool } from "../../src/postgres/pool.ts";
import { PostgresRateLimiter } from "../../src/postgres/rate-limiter.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expireLeases,
  failed,
  makeAccount,
  newRunId,
  openInstance,
  paymentOf,
} from "./fixture.ts";
import { fillLedger } from "./large-ledger.ts";

const INSTANCE = randomUUID();

let database: TestDatabase;
/** The one connection of a gateway, which tells the plans of what it runs. */
let pool: Pool;
/** For what the test itself does. */
let outside: Pool;
let ledger: PostgresLedger;
/** The columns of each index in which nothing is twice. */
let keys: Map<string, string[]>;
/** Of statements, also within functions. */
const plans: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  outside = openPool(database.url, { max: 1, applicationName: "outside" });
  // Autovacuum would make the plans those of some other moment.
  await outside.query(
    `do $$ declare name text; begin
       for name in select tablename from pg_tables where schemaname = 'public' loop
         execute format('alter table %I set (autovacuum_enabled = off)', name);
       end loop;
     end $$`,
  );
  const { rows } = await outside.query<{ name: string; columns: string[] }>(
    `select indexrelid::regclass::text as name,
            array(select attname::text from pg_attribute where attrelid = indexrelid order by attnum) as columns
     from pg_index join pg_class on pg_class.oid = indrelid
     where relnamespace = 'public'::regnamespace and indisunique`,
  );
  keys = new Map(rows.map(({ name, columns }) => [name, columns]));
});
afterAll(async () => {
  await outside.end();
  await database.drop();
});

/** A gateway that starts now. */
async function open(): Promise<void> {
  pool = openPool(database.url, { max: 1, applicationName: "kept plans" });
  await pool.query(
    `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
     set auto_explain.log_level = notice`,
  );
  const client = await pool.connect();
  client.on("notice", ({ message }) => plans.push(message ?? ""));
  client.release();
  const leases = new Leases({
    pool,
    instanceId: INSTANCE,
    leaseMs: 60_000,
    log: { warn: () => {}, error: () => {} },
  });
  ledger = new PostgresLedger({ pool, instanceId: INSTANCE, leaseMs: 60_000, leases });
}

const newKey = () => newId("key", systemClock, systemRandom);
const begin = async (calls: readonly CallAuthorization[]) =>
  (await Promise.all(calls.map((call) => ledger.authorize(call)))).map(({ kind }) => kind);
const finish = (endings: readonly RunEnd[]) => Promise.all(endings.map((ending) => ledger.finish(ending)));

/** A statement of its own, whose plan is not the function's to keep. */
const ASIDE = /Query Text: select available from account/;

const SCAN =
  /\b(?:Seq|Index|Index Only|Bitmap Index) Scan\b(?: using (\w+))?[^\n]* on (\w+)[^\n]*\n?([^\n]*)/g;

/** What is read otherwise than by all columns of a key, and for which statement. */
function otherReads(): string[] {
  return plans
    .filter((plan) => !ASIDE.test(plan))
    .flatMap((plan) => Array.from(plan.matchAll(SCAN), (scan) => ({ scan, plan })))
    .filter(({ scan: [, using, on = "", condition = ""] }) => !isByKey(using ?? on, condition))
    .map(({ scan, plan }) => `${scan[0]} for ${plan.slice(0, 300)}`);
}

/** Whether one row is found for each value; runs whose lease has expired are few. */
function isByKey(index: string, condition: string): boolean {
  if (index === "run_lease_index") return condition.includes("Index Cond: (lease_until < ");
  const columns = keys.get(index);
  return (
    columns !== undefined &&
    condition.includes("Index Cond: ") &&
    columns.every((column) => condition.includes(`(${column} = `))
  );
}

/** What grows. */
const GROWING =
  "account, api_key, hold, idempotency, key_budget, payment, rate_bucket, receipt, relay, relay_budget, run, transfer";

/** Takes all rows away, also of what only grows otherwise. */
async function empty(): Promise<void> {
  await outside.query("set session_replication_role = replica");
  await outside.query(`truncate ${GROWING} cascade`);
  await outside.query("reset session_replication_role");
}

/** One of each. */
async function begun(): Promise<void> {
  const { ledger: first, ...instance } = openInstance(database.url);
  const accountId = await makeAccount(outside, 1_000_000n);
  const call = callOf(accountId, {
    idempotencyKey: newRunId(),
    budget: { id: newKey(), perDay: 1_000_000n },
  });
  for (const one of [call, callOf(accountId, { payment: paymentOf(depositOf()) })]) {
    await first.authorize(one);
    await first.finish(completed(one));
  }
  await instance.close();
}

/** In this order, each from what the one before has left. */
const STATES: readonly [string, () => Promise<unknown>][] = [
  ["there was nothing", () => outside.query("analyze")],
  [
    "there was one of each",
    async () => {
      await empty();
      await begun();
      await outside.query("analyze");
    },
  ],
  [
    "there were a few, one of them under way",
    async () => {
      await empty();
      const { ledger: first, ...instance } = openInstance(database.url);
      const accountId = await makeAccount(outside, 1_000_000n);
      const [active, ...others] = Array.from({ length: 6 }, () => callOf(accountId));
      if (active) await first.authorize(active);
      for (const call of others) {
        await first.authorize(call);
        await first.finish(completed(call));
      }
      await instance.close();
      await outside.query("analyze");
    },
  ],
  [
    "nobody knew how much there is",
    async () => {
      await empty();
      await fillLedger(database.url, 20_000, 5000);
      await outside.query("insert into rate_bucket (bucket_id, tat) select id, 0 from api_key");
    },
  ],
  ["all there is was known", () => outside.query("analyze")],
  [
    "all that was known had gone",
    async () => {
      await empty();
      await outside.query(`vacuum ${GROWING}`);
    },
  ],
];

const KINDS: readonly [string, (accountId: string) => CallAuthorization][] = [
  ["from the balance", (accountId) => callOf(accountId)],
  ["with a key", (accountId) => callOf(accountId, { idempotencyKey: newRunId() })],
  ["by proof", (accountId) => callOf(accountId, { payment: paymentOf(depositOf()) })],
  [
    "by proof with a key",
    (accountId) => callOf(accountId, { idempotencyKey: newRunId(), payment: paymentOf(depositOf()) }),
  ],
  [
    "with a limit per day",
    (accountId) => callOf(accountId, { budget: { id: newKey(), perDay: 1_000_000n } }),
  ],
];

describe.each(STATES)("plans that were made when %s", (_state, prepare) => {
  beforeAll(async () => {
    await prepare();
    await open();
  });
  afterAll(() => pool.end());

  it("read the runs of a heartbeat by their key", async () => {
    plans.length = 0;
    await pool.query("select ledger_beat($1, $2, interval '1 minute')", [[newRunId().slice(4)], INSTANCE]);
    expect(plans.length).toBeGreaterThan(0);
    expect(otherReads()).toEqual([]);
  });

  it.each(KINDS)("read a call %s, its end and its repetition by keys alone", async (_kind, make) => {
    const accountId = await makeAccount(outside, 1_000_000_000n);
    plans.length = 0;
    for (const end of [completed, failed]) {
      const calls = Array.from({ length: 3 }, () => make(accountId));
      expect(await begin(calls)).toEqual(calls.map(() => "started"));
      await finish(calls.map((call) => end(call)));
      const again = calls.map((call) => ({ ...call, runId: newRunId() }));
      await begin(again);
      await finish(again.map((call) => failed(call)));
      for (const call of calls) {
        const { txSignature, quoteId } = call.payment ?? depositOf();
        await ledger.findPrior({ ...call, idempotencyKey: newRunId(), txSignature, quoteId });
      }
    }
    expect(plans.length).toBeGreaterThan(40);
    expect(otherReads()).toEqual([]);
  });

  it("read a call that is refused, one whose payment was credited before, and what is swept by keys alone", async () => {
    const poor = await makeAccount(outside, 0n);
    const accountId = await makeAccount(outside, 1_000_000_000n);
    plans.length = 0;
    const short = depositOf({ amount: 1n });
    expect(
      await begin([
        callOf(poor, { idempotencyKey: newRunId() }),
        callOf(poor, { payment: paymentOf(short) }),
      ]),
    ).toEqual(["insufficient", "insufficient"]);
    const credited = depositOf();
    await ledger.credit(accountId, credited);
    const call = callOf(accountId, { payment: paymentOf(credited), idempotencyKey: newRunId() });
    const swept = callOf(accountId, {
      idempotencyKey: newRunId(),
      budget: { id: newKey(), perDay: 1_000_000n },
    });
    expect(await begin([call, swept])).toEqual(["started", "started"]);
    await expireLeases(outside, call, swept);
    await pool.query("select ledger_sweep(100)");
    expect(otherReads()).toEqual([]);
  });

  it("read the buckets of rate limits by keys alone", async () => {
    plans.length = 0;
    const rates = new PostgresRateLimiter({ pool, clock: systemClock });
    const [accountId, tier] = [newId("acct", systemClock, systemRandom), { ratePerMinute: 60, burst: 10 }];
    for (let turn = 0; turn < 2; turn++) {
      await Promise.all(
        [newKey(), newKey(), newKey()].map(async (keyId) =>
          rates.take({ keyId, accountId, tier, accountTier: tier }),
        ),
      );
    }
    expect(plans.length).toBeGreaterThan(3);
    expect(otherReads()).toEqual([]);
  });
});
