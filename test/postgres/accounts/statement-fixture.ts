import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import type { Pool } from "pg";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { adjustBalance } from "../../support/operator-acts.ts";
import { newId, uuidOf } from "../../../src/domain/core/ids.ts";
import { systemRandom } from "../../../src/system.ts";
import { datingOfEntries } from "../dated-entries.ts";
import {
  callOf,
  completed,
  depositOf,
  failed,
  endRun,
  openInstance,
  type Instance,
  idOf,
} from "../fixture.ts";
import { movementOf, watchedAccount } from "../treasury/treasury-fixture.ts";

/** A ledger entry, read by the test itself. */
export interface BookedEntry {
  id: string;
  kind: string;
  /** Change of the account's balance. */
  amount: bigint;
  ref: string;
  note: string | null;
  /** ISO 8601 with microseconds. */
  time: string;
}

/** Of a charged or failed call. */
export interface RecordedRun {
  tool: string;
  keyId: string | null;
  status: string;
  errorCode: string | null;
  time: string;
}

const TOOLS = ["inference_chat", "sandbox_execute", "vram_estimate", '=cmd|" /C calc"!A0'];
export const KEY_NAMES = ["+1 key", 'quo"ted, and\r\nbroken', "schlüssel 🔑"];
const NOTES = ['=HYPERLINK("http://x")', "-2+3;=1+1", "@sum", "\tout", 'a, "b"\nc', "price -5 €", ""];

/** Number of calls of the account. */
export const CALLS = 4_000;

/** An account with every kind of entry over the last forty days. */
export interface StatementWorld {
  treasurer: Instance;
  accountId: string;
  keyIds: string[];
  entries: BookedEntry[];
  /** By identifier, hex. */
  runs: Map<string, RecordedRun>;
  /** `rcpt_…`, by run identifier in hex. */
  receipts: Map<string, string>;
}

export async function makeStatementWorld(url: string): Promise<StatementWorld> {
  const treasurer = openInstance(url);
  const { pool } = treasurer;
  const accountId = idOf("acct");
  const account = uuidOf("acct", accountId);
  await pool.query("insert into account (id, wallet, rate_per_minute, burst) values ($1, $2, 60, 10)", [
    account,
    accountId,
  ]);
  const keyIds = await makeKeys(pool, accountId);
  await moveMoney(treasurer, accountId);
  const receiptIds = await call(treasurer, accountId);
  for (const [n, receiptId] of receiptIds.filter((_, n) => n % 211 === 0).entries()) {
    await treasurer.refunds.refund({ receiptId, reason: NOTES[n % NOTES.length] ?? "" });
  }
  await date(pool);
  await spread(pool, keyIds);
  await pool.query("vacuum analyze transfer, receipt, run");
  return {
    treasurer,
    accountId,
    keyIds,
    entries: await entriesOf(pool, accountId),
    runs: await runsOf(pool, accountId),
    receipts: await receiptsOf(pool, accountId),
  };
}

async function makeKeys(pool: Pool, accountId: string): Promise<string[]> {
  const keyIds = KEY_NAMES.map(() => idOf("key"));
  for (const [n, keyId] of keyIds.entries()) {
    await pool.query(
      `insert into api_key (id, account_id, sha256, prefix, name, scopes)
        values ($1, $2, $3, 'sk', $4, '{}')`,
      [uuidOf("key", keyId), uuidOf("acct", accountId), randomBytes(32), KEY_NAMES[n]],
    );
  }
  return keyIds;
}

/** Deposits (some reversed), adjustments both ways, and an assigned transfer. */
async function moveMoney(treasurer: Instance, accountId: string): Promise<void> {
  const { pool, ledger, treasury, suspense } = treasurer;
  for (let n = 0; n < 20; n++) {
    const deposit = depositOf({ amount: 10_000_000n + BigInt(n) });
    await ledger.credit(accountId, deposit);
    if (n % 9 === 0)
      await pool.query("select treasury_reverse('solana-mainnet', $1)", [
        Buffer.from(base58.decode(deposit.reference)),
      ]);
  }
  for (const [n, note] of NOTES.entries()) {
    const change = n % 2 === 0 ? 7_000_001n : -1_000_003n;
    await adjustBalance(pool, accountId.slice(5), { change, key: String(n), note });
  }
  const tokenAccount = await watchedAccount(treasurer);
  const movement = movementOf();
  await treasury.record(tokenAccount, movement);
  await suspense.assign({ txSignature: movement.txSignature, to: { accountId }, reason: "theirs; -1" });
}

/** Every seventh call fails; the last five are still running. @returns the receipts */
async function call({ ledger }: Instance, accountId: string): Promise<string[]> {
  const receiptIds: string[] = [];
  const start = Date.now() - 40 * 86_400_000;
  for (let done = 0; done < CALLS; done += 2_000) {
    const calls = Array.from({ length: 2_000 }, (_, m): CallAuthorization => {
      const n = done + m;
      // Identifiers with the time of the calls' dates, as in production.
      const clock = { now: () => start + Math.floor((n * 40 * 86_400_000) / CALLS) };
      const runId = newId("run", clock, systemRandom);
      return callOf(accountId, {
        runId,
        tool: TOOLS[Math.floor(n / 3) % TOOLS.length] ?? "",
        price: 1_000n + BigInt((n * 7919) % 9973),
      });
    });
    await Promise.all(calls.map((call) => ledger.authorize(call)));
    const ends = calls
      .slice(0, done + 2_000 === CALLS ? -5 : undefined)
      .map((call, m) => (m % 7 === 6 ? failed(call) : completed(call)));
    const finished = await Promise.all(ends.map((end) => endRun(ledger, end)));
    for (const end of finished)
      if (end.kind === "captured" && end.receipt) receiptIds.push(end.receipt.receiptId);
  }
  return receiptIds;
}

/** Each midnight of the last 39 days has an entry exactly at it and one a microsecond earlier. */
const MIDNIGHTS = `
  update dated set at = edge.midnight - case edge.n when 1 then interval '1 microsecond' else interval '0' end
  from (
    select id, date_trunc('day', at, 'UTC') as midnight,
           row_number() over (partition by date_trunc('day', at, 'UTC') order by id) as n
    from dated where at >= date_trunc('day', now() - interval '39 days', 'UTC')
  ) edge where edge.n <= 2 and edge.id = dated.id`;

/** Dates the entries over forty days, and runs by their identifiers. */
async function date(pool: Pool): Promise<void> {
  await pool.query(datingOfEntries(MIDNIGHTS));
  await pool.query(`
    update run set created_at = to_timestamp(('x' || lpad(left(replace(id::text, '-', ''), 12), 16,
      '0'))::bit(64)::bigint / 1000.0)`);
}

/** Assigns keys to all runs except the oldest. */
async function spread(pool: Pool, keyIds: readonly string[]): Promise<void> {
  await pool.query(
    `update run set key_id = case when numbered.n > ${CALLS / 10} then ($1::uuid[])[1 + numbered.n % 3] end
     from (select id, row_number() over (order by id) as n from run) numbered where numbered.id = run.id`,
    [keyIds.map((keyId) => uuidOf("key", keyId))],
  );
}

const TIME = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`;

export async function entriesOf(pool: Pool, accountId: string): Promise<BookedEntry[]> {
  const { rows } = await pool.query<BookedEntry>(
    `select id, kind, case when credit = $1 then amount
        else -amount end as amount, encode(ref, 'hex') as ref, note,
            to_char(created_at at time zone 'UTC', ${TIME}) as time
     from ledger_entry where $1 in (debit, credit) order by id`,
    [uuidOf("acct", accountId)],
  );
  return rows;
}

async function runsOf(pool: Pool, accountId: string): Promise<Map<string, RecordedRun>> {
  const { rows } = await pool.query<RecordedRun & { id: string }>(
    `select encode(uuid_send(id), 'hex') as id, tool, 'key_' || encode(uuid_send(key_id), 'hex') as "keyId",
        status,
            error_code as "errorCode", to_char(created_at at time zone 'UTC', ${TIME}) as time
     from run where account_id = $1`,
    [uuidOf("acct", accountId)],
  );
  return new Map(rows.map(({ id, ...run }) => [id, run]));
}

async function receiptsOf(pool: Pool, accountId: string): Promise<Map<string, string>> {
  const { rows } = await pool.query<{ id: string; run: string }>(
    `select 'rcpt_' || encode(uuid_send(id), 'hex') as id, encode(uuid_send(run_id), 'hex') as run
      from receipt where account_id = $1`,
    [uuidOf("acct", accountId)],
  );
  return new Map(rows.map(({ id, run }) => [run, id]));
}
