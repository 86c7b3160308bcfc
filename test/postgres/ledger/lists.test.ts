import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { PostgresHistory, PostgresReceipts } from "../../../src/postgres/ledger/history.ts";
import { PostgresRuns } from "../../../src/postgres/ledger/runs.ts";
import type { HistoryFilter } from "../../../src/app/calls/history.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";
import type { CallOutcome, RunStatus } from "../../../src/domain/calls/receipt.ts";
import {
  callOf,
  completed,
  failed,
  newRunId,
  PRICE,
  endRun,
  openLedger,
  idOf,
  depositOf,
  paymentOf,
} from "../fixture.ts";
import { signatureFrom } from "../../../src/postgres/database/row-mapping.ts";

const { pool, one } = await openLedger();
const [receipts, runs] = [new PostgresReceipts(pool), new PostgresRuns(pool)];
const [accountId, otherId] = [await one.account(100n * PRICE), await one.account(100n * PRICE)];
/** In time order. */
const runIds: string[] = [];
const receiptIds: string[] = [];

beforeAll(async () => {
  for (let n = 0; n < 12; n++) {
    for (const owner of [accountId, otherId]) {
      // Identifiers of the same millisecond have no defined order.
      const call = callOf(owner, { runId: idOf("run", Date.now() - 60_000 + 10 * n) });
      await one.ledger.authorize(call);
      const finished = await endRun(one.ledger, n % 4 === 3 ? failed(call) : completed(call));
      if (owner !== accountId) continue;
      runIds.push(call.runId);
      if (finished.kind === "captured" && finished.receipt) receiptIds.push(finished.receipt.receiptId);
    }
  }
  runIds.push((await one.start(accountId)).runId);
});

const page = { accountId: "", limit: 5, cursor: undefined, status: undefined };

async function all<Item>(
  list: (cursor: string | undefined) => Promise<{ items: Item[]; nextCursor: string | undefined }>,
): Promise<Item[][]> {
  const pages: Item[][] = [];
  for (let cursor: string | undefined; ;) {
    const { items, nextCursor } = await list(cursor);
    pages.push(items);
    if (nextCursor === undefined) return pages;
    cursor = nextCursor;
  }
}

describe("lists", () => {
  it("filter by tool, key and half-open time span", async () => {
    const keyId = idOf("key");
    const [first, second, third] = [runIds[0]!, runIds[1]!, runIds[2]!];
    await pool.query("update run set key_id = $1, tool = 'other' where id = any ($2::uuid[])", [
      uuidOf("key", keyId),
      [first, second, third].map((runId) => uuidOf("run", runId)),
    ]);
    const found = async (filter: HistoryFilter, status?: RunStatus) => {
      const pages = await all((cursor) =>
        runs.list({ ...page, accountId, limit: 2, cursor, status, filter }),
      );
      return pages.flat().map(({ runId }) => runId);
    };
    expect(await found({ keyId })).toEqual([third, second, first]);
    expect(await found({ tool: "other" })).toEqual([third, second, first]);
    expect(await found({ tool: "other", keyId }, "failed")).toEqual([]);
    expect(await found({ tool: "vram_estimate", keyId })).toEqual([]);
    const at = async (runId: string) => (await runs.find(accountId, runId))!.createdAt;
    await pool.query("update run set created_at = date_trunc('milliseconds', created_at)");
    expect(await found({ from: await at(second), to: await at(third) })).toEqual([second]);
    expect(await found({ to: await at(second) })).toEqual([first]);
    expect(await found({ from: await at(runIds.at(-1)!) })).toEqual([runIds.at(-1)]);
    expect(await found({ from: new Date(0), to: new Date(1) })).toEqual([]);
    // Receipts by the key and tool of their runs.
    const narrowed = await receipts.list({ ...page, accountId, filter: { keyId } });
    expect(narrowed.items.map(({ runId }) => runId)).toEqual([third, second, first]);
    expect((await receipts.list({ ...page, accountId, status: "final", filter: { keyId } })).items).toEqual(
      narrowed.items,
    );
    expect(
      (await receipts.list({ ...page, accountId, status: "refunded", filter: { keyId } })).items,
    ).toEqual([]);
    expect((await receipts.list({ ...page, accountId: otherId, filter: { keyId } })).items).toEqual([]);
    const [newest] = narrowed.items;
    expect(
      await receipts.list({ ...page, accountId, limit: 1, filter: { to: newest!.createdAt, keyId } }),
    ).toMatchObject({
      items: [{ runId: second }],
      nextCursor: expect.any(String),
    });
  });

  it("filter by outcome: failed code counts as failed, and every limit as a limit", async () => {
    const account = await one.account(100n * PRICE);
    const ended: Record<string, string> = {};
    for (const outcome of [null, "failed", "timeout", "memory_limit", "cpu_limit", "cancelled"]) {
      const { call } = await one.buy(account);
      await pool.query("update run set outcome = $1 where id = $2", [outcome, uuidOf("run", call.runId)]);
      ended[call.runId] = outcome ?? "succeeded";
    }
    const broken = await one.fail(account);
    ended[broken.runId] = "run failed";
    await one.authorize(account);
    const found = async (outcome: CallOutcome) => {
      const query = { ...page, accountId: account, limit: 100, filter: { outcome } };
      const [inRuns, inReceipts] = [await runs.list(query), await receipts.list(query)];
      const ids = (items: readonly { runId: string }[]) => new Set(items.map(({ runId }) => ended[runId]));
      return [ids(inRuns.items), ids(inReceipts.items)];
    };
    const both = (...outcomes: string[]) => [new Set(outcomes), new Set(outcomes)];
    expect(await found("succeeded")).toEqual(both("succeeded"));
    expect(await found("failed")).toEqual([new Set(["failed", "run failed"]), new Set(["failed"])]);
    expect(await found("timeout")).toEqual(both("timeout"));
    expect(await found("limit")).toEqual(both("cpu_limit", "memory_limit"));
    expect(await found("cancelled")).toEqual(both("cancelled"));
  });

  it("continue after the last scanned row when a filter matches nothing", async () => {
    const account = await one.account();
    await pool.query(
      `insert into run (id, account_id, tool, status, lease_until, price, paid_by)
       select overlay(encode(uuid_send($2::uuid), 'hex') placing lpad(to_hex(n), 4, '0')
         from 29 for 4)::uuid, $1,
              case n when 5 then 'rare' else 'many' end, 'completed', now(), 0, 'balance'
       from generate_series(1, 4100) n`,
      [uuidOf("acct", account), uuidOf("run", newRunId())],
    );
    const pages = await all((cursor) =>
      runs.list({ ...page, accountId: account, cursor, filter: { tool: "rare" } }),
    );
    expect(pages.map((items) => items.length)).toEqual([0, 0, 1]);
    const many = await all((cursor) =>
      runs.list({ ...page, accountId: account, limit: 100, cursor, filter: { tool: "many" } }),
    );
    expect(new Set(many.flat().map(({ runId }) => runId)).size).toBe(4_099);
  });

  it("show a receipt as refunded once a transfer refunds it, with the receipt row unchanged", async () => {
    const { call, receiptId } = await one.buy(accountId);
    await pool.query(
      `insert into transfer (debit, credit, amount, kind, ref)
       select credit, debit, amount, 'refund', ref from ledger_entry where kind = 'charge'
         and ref = decode($1, 'hex')`,
      [call.runId.slice(4)],
    );
    expect(await receipts.find(accountId, receiptId)).toMatchObject({
      status: "refunded",
      refunded: PRICE,
      debited: PRICE,
    });
    expect((await receipts.list({ ...page, accountId, status: "refunded" })).items).toHaveLength(1);
  });
});

it("order runs and receipts by time despite differing instance clocks", async () => {
  const account = await one.account(100n * PRICE);
  const made = (skewMs: number) => idOf("run", Date.now() + skewMs);
  const calls = [0, -600_000, 600_000, -7, 7, 0].map((skewMs) => callOf(account, { runId: made(skewMs) }));
  for (const call of calls) await one.ledger.authorize(call);
  // Receipt identifiers by clocks that differ.
  for (const [n, call] of calls.entries()) {
    const receiptId = idOf("rcpt", Date.now() + (n % 2 === 0 ? 600_000 : -600_000));
    await one.ledger.capture({ ...completed(call), receiptId });
  }
  for (const list of [runs, receipts]) {
    const pages = await all<{ createdAt: Date }>((cursor) =>
      list.list({ ...page, accountId: account, limit: 4, cursor }),
    );
    const times = pages.flat().map(({ createdAt }) => createdAt.getTime());
    expect(times).toHaveLength(calls.length);
    expect(times).toEqual(times.toSorted((one, other) => other - one));
  }
  const [run] = (await runs.list({ ...page, accountId: account, limit: 1 })).items;
  expect(run?.createdAt).toEqual(new Date(Number.parseInt(run?.runId.slice(4, 16) ?? "", 16)));
});

describe("a receipt or run", () => {
  it("is found by its account only", async () => {
    expect(await receipts.find(accountId, receiptIds[0]!)).toMatchObject({
      receiptId: receiptIds[0],
      runId: runIds[0],
    });
    expect(await runs.find(accountId, runIds[0]!)).toMatchObject({
      runId: runIds[0],
      receiptId: receiptIds[0],
    });
    expect(await receipts.find(otherId, receiptIds[0]!)).toBeUndefined();
    expect(await runs.find(otherId, runIds[0]!)).toBeUndefined();
    expect(await receipts.find(accountId, "rcpt_nonsense")).toBeUndefined();
    expect(await runs.find(accountId, runIds[0]!.replace("run_", "rcpt_"))).toBeUndefined();
  });
});

describe("run details", () => {
  const history = new PostgresHistory({ pool, receipts, runs });
  let accountId: string;
  beforeEach(async () => {
    accountId = await one.account(100n * PRICE);
  });

  it("returns the result, the API key and the idempotency key of a run to its account only", async () => {
    const keyId = idOf("key");
    await pool.query(
      `insert into api_key (id, account_id, sha256, prefix, name, scopes)
        values ($1, $2, sha256('x'), 'sk', 'mine', '{}')`,
      [uuidOf("key", keyId), uuidOf("acct", accountId)],
    );
    const { call, receiptId } = await one.buy(accountId, { idempotencyKey: "once", keyId });
    const details = {
      run: { runId: call.runId, status: "completed" },
      receipt: { receiptId },
      key: { keyId, name: "mine" },
      outcome: "succeeded",
      idempotencyKey: "once",
      result: { answer: 42 },
      payment: undefined,
    };
    expect(await history.ofRun(accountId, call.runId)).toMatchObject(details);
    expect(await history.ofReceipt(accountId, receiptId)).toMatchObject(details);
    const { key, outcome } = details;
    const running = await one.start(accountId);
    expect(await history.callsOf(accountId, [call.runId, running.runId])).toEqual(
      new Map([
        [call.runId, { key, outcome }],
        [running.runId, { key: { keyId: running.keyId, name: "" }, outcome: undefined }],
      ]),
    );
    expect(await history.callsOf(otherId, [call.runId])).toEqual(new Map());
    expect(await history.ofRun(otherId, call.runId)).toBeUndefined();
    expect(await history.ofReceipt(otherId, receiptId)).toBeUndefined();
    expect(await history.ofRun(accountId, "run_nonsense")).toBeUndefined();
    expect(await history.ofReceipt(accountId, call.runId)).toBeUndefined();
  });

  it("returns no result of a later run with the same claim, and none that was not stored", async () => {
    const first = await one.fail(accountId, { idempotencyKey: "again" });
    await one.buy(accountId, { idempotencyKey: "again" });
    expect(await history.ofRun(accountId, first.runId)).toMatchObject({
      run: { status: "failed", error: { code: "TOOL_FAILED" } },
      receipt: undefined,
      idempotencyKey: "again",
      result: undefined,
    });
    const { call: unkept } = await one.buy(accountId);
    await one.pool.query("update run set key_id = null");
    expect(await history.ofRun(accountId, unkept.runId)).toMatchObject({
      key: undefined,
      idempotencyKey: undefined,
      result: undefined,
    });
  });

  it("returns the payment of a run as in the ledger, also after its reversal", async () => {
    const deposit = depositOf({ payer: "the payer", slot: 77n });
    const { receiptId } = await one.buy(accountId, { payment: paymentOf(deposit) });
    const payment = {
      txSignature: deposit.reference,
      amount: PRICE,
      payer: "the payer",
      slot: 77n,
      blockTime: deposit.blockTime,
      finalized: false,
      reversed: false,
    };
    expect(await history.ofReceipt(accountId, receiptId)).toMatchObject({
      receipt: { status: "final", paidBy: "transfer" },
      payment,
      idempotencyKey: undefined,
      result: { answer: 42 },
    });
    await one.pool.query("select treasury_reverse('solana-mainnet', $1)", [signatureFrom(deposit.reference)]);
    expect(await history.ofReceipt(accountId, receiptId)).toMatchObject({
      receipt: { status: "reversed" },
      payment: { ...payment, reversed: true },
    });
  });
});
