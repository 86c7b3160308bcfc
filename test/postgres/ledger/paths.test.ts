import { randomUUID } from "node:crypto";
import fc from "fast-check";
import type { Pool } from "pg";
import { expect, it } from "vitest";
import type { CallAuthorization, RunEnd } from "../../../src/app/calls/ledger.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import { openPool } from "../../../src/postgres/database/pool.ts";
import { idFromUuid } from "../../../src/postgres/database/row-mapping.ts";
import { claimKey, exclusiveKeys } from "../../../src/postgres/ledger/claims.ts";
import { callRecord, endingRecord, resultText } from "../../../src/postgres/ledger/records.ts";
import * as sql from "../../../src/postgres/ledger/start-and-capture.ts";
import { adjustBalance, refundRun } from "../../support/operator-acts.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  expireLeases,
  failed,
  fingerprintOf,
  idOf,
  paymentOf,
  PRICE,
} from "../fixture.ts";

/** Trials; set PATH_RUNS for more. */
const RUNS = Number(process.env["PATH_RUNS"] ?? 12);

/**
 * Ways that calls go. `fast`: ledger_start and ledger_capture take what they can, as in a gateway; else
 * ledger_authorize and ledger_end take all. `alone`: each call in transactions of its own. `decoy`: beside a
 * refused call, so that ledger_start_proved leaves the batch to the steps of ledger_authorize. `sweeps`:
 * abandoned runs are swept; else they are released with the same error.
 */
const WAYS = [
  { fast: true, alone: false, decoy: false, sweeps: false },
  { fast: false, alone: false, decoy: true, sweeps: true },
  { fast: true, alone: true, decoy: false, sweeps: true },
  { fast: false, alone: true, decoy: true, sweeps: false },
];
const INSTANCE = randomUUID();
/** Longer than the test: only abandoned runs expire. */
const LEASE_MS = 1_200_000;
const DECOY = callOf(idOf("acct"));
const STARTED = new Date();

/** One database for each way. */
const worlds = await Promise.all(
  WAYS.map(async (way) => {
    const pool = closing(openPool((await openDatabase()).url, { max: 1, applicationName: "paths" }));
    await pool.query("insert into account (id, wallet) values ($1, '')", [uuidOf("acct", DECOY.accountId)]);
    return { ...way, pool };
  }),
);
type World = (typeof worlds)[number];

const small = (max: number) => fc.nat({ max: max - 1 });
const begin = fc.record({
  account: small(2),
  call: small(2),
  idempotencyKey: fc.option(fc.constantFrom("1", "2", "3"), { nil: undefined }),
  proof: fc.option(fc.record({ tx: small(4), quote: small(3), credited: fc.boolean() }), { nil: undefined }),
  price: fc.constantFrom(0n, PRICE, PRICE, 2n * PRICE),
  key: small(3),
  limitsVersion: fc.constantFrom(0, 9, 9, 9),
});
const end = fc.record({
  run: small(8),
  how: fc.constantFrom("completed", "completed", "part", "failed", "abandoned"),
});
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ begins: fc.array(begin, { minLength: 1, maxLength: 5 }) }) },
    { weight: 2, arbitrary: fc.record({ ends: fc.array(end, { minLength: 1, maxLength: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ account: small(2), change: fc.constantFrom(-1n, 1n, 3n) }) },
    { weight: 1, arbitrary: fc.record({ refunds: small(4) }) },
  ),
  { minLength: 4, maxLength: 14 },
);
/** What random trials may leave out: two calls of a balance in one batch, and a payment below the price. */
const PRICED = { account: 0, call: 0, price: PRICE, key: 0, limitsVersion: 9 } as const;
const BALANCE_CALL = { ...PRICED, idempotencyKey: undefined, proof: undefined };
const SHORT = { ...PRICED, idempotencyKey: undefined, price: 2n * PRICE };
const EXAMPLE: Trial = [
  { account: 0, change: 3n },
  { begins: [BALANCE_CALL, BALANCE_CALL] },
  { begins: [{ ...SHORT, proof: { tx: 0, quote: 0, credited: false } }] },
  { begins: [{ ...SHORT, account: 1, proof: { tx: 1, quote: 1, credited: false } }] },
];
type Trial = Parameters<typeof steps.map>[0] extends (trial: infer Steps) => unknown ? Steps : never;
type Begin = Parameters<typeof begin.map>[0] extends (step: infer Step) => unknown ? Step : never;

interface Ending {
  readonly call: CallAuthorization;
  readonly end: RunEnd;
  readonly isAbandoned: boolean;
}

it("gives the same answers and leaves the same rows, whichever functions start and end calls", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (trial) => {
      const names = newNames();
      await same((world) => names.create(world.pool));
      const runs: CallAuthorization[] = [];
      const ended: string[] = [];
      for (const step of trial) {
        if ("begins" in step) {
          const calls = batchOf(step.begins.map(names.call));
          const answers = await same((world) => start(world, calls));
          runs.push(...calls.filter(({ runId }) => answers[runId]?.kind === "started"));
        } else if ("ends" in step) {
          const picked = step.ends.map(({ run, how }) => ({ call: runs[run % runs.length], how }));
          const calls = new Map(picked.flatMap(({ call, how }) => (call ? [[call, how]] : [])));
          const endings = [...calls].map(([call, how]) => endingOf(call, how));
          await same((world) => finish(world, endings));
          ended.push(...endings.map(({ call }) => call.runId));
          // The sweep takes the run from its instance, whose second release would be lost.
          for (const { call, isAbandoned } of endings) if (isAbandoned) runs.splice(runs.indexOf(call), 1);
        } else if ("change" in step) {
          const account = names.accounts[step.account] ?? "";
          const adjustment = { change: step.change * PRICE, key: randomUUID() };
          await same(({ pool }) => adjustBalance(pool, account, adjustment));
        } else if (ended.length > 0) {
          const run = uuidOf("run", ended[step.refunds % ended.length] ?? "");
          await same(({ pool }) => refundRun(pool, run));
        }
      }
      await same(({ pool }) => everyRow(pool));
    }),
    { numRuns: RUNS, endOnFailure: true, examples: [[EXAMPLE]] },
  );
  for (const { pool } of worlds) await expectCleanAudit(pool);
});

/** Does the same in all databases, expects the same outcome, and returns it. */
async function same<Outcome>(work: (world: World) => Promise<Outcome>): Promise<Outcome> {
  const [first, ...others] = await Promise.all(worlds.map(work));
  for (const other of others) expect(other).toEqual(first);
  return first!;
}

/** Accounts, keys and payments of a trial: few, so that its steps interact. */
function newNames() {
  const accounts = [idOf("acct"), idOf("acct")];
  /** Of each account: a key without limits, one with, and one in a group. */
  const keys = accounts.map(() => [idOf("key"), idOf("key"), idOf("key")]);
  const deposits = [1n, 1n, 2n, 3n].map((prices) => depositOf({ amount: prices * PRICE }));
  const quotes = [1, 2, 3].map(() => depositOf().quoteId);
  const groups = accounts.map(() => randomUUID());
  return {
    accounts: accounts.map((account) => uuidOf("acct", account)),
    call({ account, call, key, proof, ...given }: Begin): CallAuthorization {
      const paid = proof && paymentOf({ ...deposits[proof.tx]!, quoteId: quotes[proof.quote]! });
      return callOf(accounts[account]!, {
        ...given,
        keyId: keys[account]![key]!,
        budgeted: key > 0,
        fingerprint: fingerprintOf(`call ${call}`),
        payment: paid && { ...paid, transfer: proof.credited ? undefined : paid.transfer },
      });
    },
    async create(pool: Pool): Promise<void> {
      for (const [place, account] of accounts.entries())
        await pool.query(CREATE_ACCOUNT, [
          uuidOf("acct", account),
          keys[place]!.map((key) => uuidOf("key", key)),
          groups[place],
          PRICE,
        ]);
    },
  };
}

/**
 * Account $1 with keys $2, the group $3 and an endpoint; limits are multiples of the price $4. Without a low
 * balance: a batch may cross it and return, without an event.
 */
const CREATE_ACCOUNT = /* sql */ `
  with holder as (
    insert into account (id, wallet, limits_version)
    values ($1, $1::uuid::text, 9)
  ), endpoint as (
    insert into webhook_endpoint (id, account_id, slot, url, types, key_version, secret)
    values ($1, $1, 1, 'https://a.example', array[
      'deposit.credited', 'budget.exhausted', 'budget.threshold_reached', 'receipt.refunded'], 1, '')
  ), limits as (
    insert into budget (id, account_id, name, day, month, day_limit, total_limit, warn_percent)
    select id, $1, name, (now() at time zone 'utc')::date,
      date_trunc('month', now() at time zone 'utc')::date, 3 * $4::bigint, 5 * $4::bigint, 60
    from (values (($2::uuid[])[2], null), ($3, 'group')) budget (id, name)
  )
  insert into api_key (id, account_id, sha256, prefix, name, scopes, budget_id, group_id)
  select key, $1, sha256(uuid_send(key)), '', '', '{}', case n when 2 then key end,
    case n when 3 then $3::uuid end
  from unnest($2::uuid[]) with ordinality key (key, n)`;

/**
 * Calls that may share a batch, in the order in which it decides: first those of ledger_start, last those
 * that bring a payment: what the balance does not cover is refused before a payment of the batch is credited.
 */
function batchOf(calls: readonly CallAuthorization[]): CallAuthorization[] {
  const taken = new Set<string>();
  const batch = calls.filter((call) => {
    const keys = exclusiveKeys(call);
    const isFree = keys.every((key) => !taken.has(key));
    if (isFree) for (const key of keys) taken.add(key);
    return isFree;
  });
  const rankOf = (call: CallAuthorization) => (sql.isBalanceCall(call) ? 0 : call.payment ? 2 : 1);
  return batch.toSorted((one, other) => rankOf(one) - rankOf(other));
}

/** Authorizes calls, as a gateway sends them and sends them again. Returns answers by run. */
async function start(world: World, calls: readonly CallAuthorization[]) {
  const answers: Record<string, { kind: string }> = {};
  for (const batch of world.alone ? calls.map((call) => [call]) : [calls])
    for (let left = batch; left.length > 0; left = left.filter(({ runId }) => !answers[runId])) {
      const balance = world.fast ? left.filter(sql.isBalanceCall) : [];
      const { rows } = await world.pool.query<{ started: string[] }>(
        sql.START_CALLS,
        sql.startValues(balance, INSTANCE, LEASE_MS),
      );
      for (const run of rows[0]?.started ?? []) answers[idFromUuid("run", run)] = { kind: "started" };
      const others = left.filter(({ runId }) => !answers[runId]);
      const decided = await world.pool.query<{ n: number; kind: string }>(
        // The balance of a refusal is that before the other calls of its batch, or after some.
        `select n, kind, result, replayed_run
         from ledger_authorize(array(select call
           from json_populate_recordset(null::ledger_call, $1) call), $2, $3 * interval '1 ms')`,
        [JSON.stringify([...others, ...(world.decoy ? [DECOY] : [])].map(callRecord)), INSTANCE, LEASE_MS],
      );
      for (const { n, ...answer } of decided.rows) {
        const call = others[n - 1];
        if (!call || answer.kind === "again") continue;
        answers[call.runId] = answer.kind === "started" ? { kind: answer.kind } : answer;
      }
    }
  return answers;
}

function endingOf(
  call: CallAuthorization,
  how: Parameters<typeof end.map>[0] extends (e: infer E) => unknown
    ? E extends { how: infer H }
      ? H
      : never
    : never,
): Ending {
  const isAbandoned = how === "abandoned";
  const message = "the instance that ran this call died or stalled; nothing was charged";
  const captured = how === "part" && call.price > 0n ? { captured: call.price / 4n } : {};
  const end = isAbandoned
    ? { ...failed(call), error: { code: "UNAVAILABLE" as const, message } }
    : how === "failed"
      ? failed(call)
      : { ...completed(call), ...captured };
  return { call, end, isAbandoned };
}

/** Ends runs. Returns the outcomes by run, of those that an instance ends. */
async function finish(world: World, endings: readonly Ending[]) {
  const outcomes: Record<string, string> = {};
  for (const batch of world.alone ? endings.map((ending) => [ending]) : [endings]) {
    const abandoned = batch.filter(({ isAbandoned }) => isAbandoned && world.sweeps);
    const own = batch
      .filter((ending) => !abandoned.includes(ending))
      .map(({ call, end }) => ({
        call,
        end,
        stored: claimKey(call) === undefined ? undefined : resultText(end),
      }));
    const captures = own.flatMap(({ end, ...rest }) =>
      world.fast && end.outcome === "completed" ? [{ run: end, ...rest }] : [],
    );
    const { rows } = await world.pool.query(sql.CAPTURE_RUNS, sql.captureValues(captures, INSTANCE));
    for (const run of rows[0].captured ?? []) outcomes[idFromUuid("run", run)] = "captured";
    const others = own.filter(({ call }) => outcomes[call.runId] === undefined);
    const ended = await world.pool.query(sql.END_RUNS, [
      JSON.stringify(others.map((one, index) => endingRecord(one.end, index))),
      others.map(({ stored }) => stored),
      INSTANCE,
    ]);
    for (const { n, kind } of ended.rows) outcomes[others[n - 1]!.call.runId] = kind;
    if (abandoned.length > 0) {
      await expireLeases(world.pool, ...abandoned.map(({ call }) => call));
      await world.pool.query("select ledger_sweep(100)");
    }
  }
  for (const { call, isAbandoned } of endings) if (isAbandoned) outcomes[call.runId] = "abandoned";
  return outcomes;
}

/** Tables that no call writes to, with rows of the installation. */
const INSTALLED = ["migration", "schema_file", "schema_version"];

/**
 * The rows of all tables, without ids that the database makes up, and without the order of returns, which
 * end in any: the audit follows their numbers. Times to the hour.
 */
async function everyRow(pool: Pool): Promise<Record<string, string[]>> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
       and relname <> all ($1)`,
    [INSTALLED],
  );
  const parts = tables.map(({ name }) => `select '${name}' as name, to_jsonb(t) as row from ${name} t`);
  const { rows } = await pool.query<{ name: string; row: object }>(parts.join(" union all "));
  const found: Record<string, string[]> = {};
  for (const { name, row } of rows) (found[name] ??= []).push(comparable(name, row));
  for (const list of Object.values(found)) list.sort();
  return found;
}

const MADE_UP: Readonly<Record<string, object>> = {
  transfer: { id: "" },
  operator_action: { id: "" },
  webhook_event: { id: "", seq: 0 },
  webhook_delivery: { event_id: "", seq: 0 },
};

function comparable(table: string, row: object): string {
  const isEnded = table === "run" && "status" in row && row.status !== "active";
  const isReturned = "return_seq" in row && row.return_seq !== null;
  const ending = { ...(isEnded && { owner: "" }), ...(isReturned && { return_seq: 0, return_balance: 0 }) };
  return (
    JSON.stringify({ ...row, ...MADE_UP[table], ...ending })
      .replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, (time) => String(hoursSince(time)))
      // Ids of receipts begin with their time.
      .replaceAll(/rcpt_[0-9a-f]{16}/g, "rcpt_")
      .replace(table === "receipt" ? /"id":"[-0-9a-f]{18}/ : "", "")
  );
}

function hoursSince(time: string): number {
  return Math.round((Date.parse(JSON.parse(time)) - STARTED.getTime()) / 3_600_000);
}
