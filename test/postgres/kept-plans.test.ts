import type { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { BeginCall, FinishCall } from "../../src/app/ports.ts";
import { newId } from "../../src/domain/ids.ts";
import { Leases } from "../../src/postgres/leases.ts";
import { PostgresLedger } from "../../src/postgres/ledger.ts";
import { openPool } from "../../src/postgres/pool.ts";
import { systemClock, systemRandom } from "../../src/system.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { callOf, completed, depositOf, expireLeases, failed, makeAccount, newRunId, paymentOf } from "./fixture.ts";

const INSTANCE = "00000000-0000-4000-8000-000000000001";

/** A scan of a table that reads all there is, or all of an index: without a condition on the next line. */
const WHOLE = /(?:Seq|Index|Index Only|Bitmap Index) Scan\b [^\n]*\bon \w+[^\n]*\n(?![^\n]*(Index Cond|TID Cond):)/g;

let database: TestDatabase;
/** The one connection of a gateway whose plans are from when all tables were empty, and known to be. */
let pool: Pool;
/** For what the test itself does. */
let outside: Pool;
let ledger: PostgresLedger;
/** The plans of what it runs, also within functions. */
const plans: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  pool = openPool(database.url, { max: 1, applicationName: "kept plans" });
  outside = openPool(database.url, { max: 1, applicationName: "outside" });
  // Autovacuum would make the plans those of some other moment.
  await outside.query(
    `do $$ declare name text; begin
       for name in select tablename from pg_tables where schemaname = 'public' loop
         execute format('alter table %I set (autovacuum_enabled = off)', name);
       end loop;
     end $$`,
  );
  await outside.query("analyze");
  await pool.query(
    `load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
     set auto_explain.log_level = notice`,
  );
  const client = await pool.connect();
  client.on("notice", ({ message }) => plans.push(message ?? ""));
  client.release();
  const leases = new Leases({ pool, instanceId: INSTANCE, leaseMs: 60_000, log: { warn: () => {}, error: () => {} } });
  ledger = new PostgresLedger({ pool, instanceId: INSTANCE, leaseMs: 60_000, leases });
});
afterAll(async () => {
  await Promise.all([pool.end(), outside.end()]);
  await database.drop();
});

const newKey = () => newId("key", systemClock, systemRandom);
const begin = async (calls: readonly BeginCall[]) =>
  (await Promise.all(calls.map((call) => ledger.begin(call)))).map(({ kind }) => kind);
const finish = (endings: readonly FinishCall[]) => Promise.all(endings.map((ending) => ledger.finish(ending)));

/** What of one account alone is read or written as its own statement, by a plan that is not kept for batches. */
const ASIDE = /select available from account|a\.available \+ amount/;

/** What reads a whole table or index, and for which statement. */
function wholeReads(): string[] {
  return plans
    .filter((plan) => !ASIDE.test(plan))
    .flatMap((plan) => Array.from(plan.matchAll(WHOLE), ([scan]) => `${scan.trim()} for ${plan.slice(0, 300)}`));
}

describe("plans that were made while there was nothing", () => {
  const account = () => makeAccount(outside, 1_000_000_000n);
  const kinds: [string, (accountId: string) => BeginCall][] = [
    ["from the balance", (accountId) => callOf(accountId)],
    ["with a key", (accountId) => callOf(accountId, { idempotencyKey: newRunId() })],
    ["by proof", (accountId) => callOf(accountId, { payment: paymentOf(depositOf()) })],
    [
      "by proof with a key",
      (accountId) => callOf(accountId, { idempotencyKey: newRunId(), payment: paymentOf(depositOf()) }),
    ],
    ["with a limit per day", (accountId) => callOf(accountId, { budget: { id: newKey(), perDay: 1_000_000n } })],
  ];

  it.each(kinds)("read a call %s, its end and its repetition by keys alone", async (_kind, make) => {
    const accountId = await account();
    for (const end of [completed, failed]) {
      plans.length = 0;
      const calls = Array.from({ length: 3 }, () => make(accountId));
      expect(await begin(calls)).toEqual(calls.map(() => "started"));
      await finish(calls.map((call) => end(call)));
      const again = calls.map((call) => ({ ...call, runId: newRunId() }));
      await begin(again);
      await finish(again.map((call) => failed(call)));
      for (const call of calls) {
        const { txSignature, quoteId } = call.payment ?? depositOf();
        await ledger.prior({ ...call, idempotencyKey: newRunId(), txSignature, quoteId });
      }
      expect(plans.length).toBeGreaterThan(20);
      expect(wholeReads()).toEqual([]);
    }
  });

  it("read a call that is refused, one whose payment was credited before, and what is swept by keys alone", async () => {
    plans.length = 0;
    const poor = await makeAccount(outside, 0n);
    const short = depositOf({ amount: 1n });
    expect(
      await begin([callOf(poor, { idempotencyKey: newRunId() }), callOf(poor, { payment: paymentOf(short) })]),
    ).toEqual(["insufficient", "insufficient"]);
    const accountId = await account();
    const credited = depositOf();
    await ledger.credit(accountId, credited);
    const call = callOf(accountId, { payment: paymentOf(credited), idempotencyKey: newRunId() });
    const swept = callOf(accountId, { idempotencyKey: newRunId(), budget: { id: newKey(), perDay: 1_000_000n } });
    expect(await begin([call, swept])).toEqual(["started", "started"]);
    await pool.query("select ledger_beat($1, $2, interval '1 minute')", [[call.runId.slice(4)], INSTANCE]);
    await expireLeases(outside, call, swept);
    await pool.query("select ledger_sweep(100)");
    expect(wholeReads()).toEqual([]);
  });
});
