import { rm } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import type { PageQuery } from "../../../src/app/calls/history.ts";
import type { Page } from "../../../src/domain/core/page.ts";
import { openArchive } from "../../../src/archive/open-archive.ts";
import { ArchivedRows } from "../../../src/postgres/archived/archived-rows.ts";
import { openAccountQueries } from "../../../src/postgres/accounts/account-queries.ts";
import { PostgresRequestTimelines } from "../../../src/postgres/operations/request-timeline.ts";
import { PostgresRefunds } from "../../../src/postgres/treasury/suspense.ts";
import { PostgresReceipts } from "../../../src/postgres/ledger/history.ts";
import { PostgresLedger } from "../../../src/postgres/ledger/ledger.ts";
import { systemClock } from "../../../src/system.ts";
import { closing } from "../../support/postgres.ts";
import { callOf, depositOf, paymentOf, PRICE, silent } from "../fixture.ts";
import { JUNE, MAY, openArchiveWorld } from "./archive-fixture.ts";
import { buyOldCalls, dateEntriesBack } from "./old-calls.ts";

const deposit = depositOf({ finalized: true });
const world = await openArchiveWorld();
const secret = { version: 1, secret: Buffer.alloc(32, 1) };
const { reading, standby } = openAccountQueries({
  url: world.database.url,
  readUrl: undefined,
  instanceId: world.instance.instanceId,
  sealingKeys: { current: () => secret, version: () => secret },
  archived: new ArchivedRows(world.archive),
  clock: systemClock,
  log: silent,
});
closing(standby);

beforeAll(async () => {
  const [account] = world.accounts;
  await buyOldCalls(world.instance, account, { month: MAY, count: 1, payment: paymentOf(deposit) });
  await world.instance.refunds.refund({ receiptId: world.bought[1]!.receiptId, reason: "test" });
  await world.instance.buy(account);
  await dateEntriesBack(world.instance);
  expect(await world.audit()).toEqual([]);
});

/** Everything that an account holder can read of an account's calls. */
async function everything(account: string): Promise<Record<string, unknown>> {
  const { receipts, runs, history, statements, usageReports, ownRecords } = reading;
  const all: Record<string, unknown> = {};
  const filter = { tool: "vram_estimate", from: new Date("2026-05-02T00:01:00Z") };
  for (const [name, query] of Object.entries({ plain: {}, filtered: { filter } })) {
    all[`receipts ${name}`] = await pages((page) => receipts.list({ ...page, ...query }), account);
    all[`runs ${name}`] = await pages((page) => runs.list({ ...page, ...query }), account);
  }
  for (const status of ["final", "refunded"] as const)
    all[`${status} receipts`] = await pages((page) => receipts.list({ ...page, status }), account);
  for (const status of ["failed", "completed"] as const)
    all[`${status} runs`] = await pages((page) => runs.list({ ...page, status }), account);
  const bought = world.bought.slice(0, 5);
  const runIds = bought.map(({ runId }) => runId);
  all["found receipts"] = await Promise.all(bought.map(({ receiptId }) => receipts.find(account, receiptId)));
  all["found runs"] = await Promise.all(runIds.map((runId) => runs.find(account, runId)));
  all["calls"] = await history.callsOf(account, runIds);
  all["details"] = await history.ofReceipt(account, bought[0]!.receiptId);
  all["failed details"] = await history.ofRun(account, world.failedRun);
  all["entries"] = await pages((page) => statements.entries(page), account);
  for (const from of [undefined, new Date("2026-05-02T00:02:00Z"), new Date("2026-06-20T00:00:00Z")]) {
    const { opening, rows } = await statements.export(account, { from, to: undefined });
    all[`statement from ${from?.toISOString()}`] = { opening, rows: await collect(rows) };
  }
  const span = { from: new Date("2026-04-20Z"), to: new Date("2026-07-10Z") };
  const usage = await usageReports.usage({
    ...{ accountId: account, ...span, hourly: false, tool: undefined, keyId: undefined },
  });
  // Keys that spent the same have no order.
  all["usage"] = { ...usage, keys: usage.keys.map((key) => JSON.stringify(key, textOf)).toSorted() };
  all["searched"] = await ownRecords.find(account, { kind: "receipt", id: bought[0]!.receiptId });
  return all;
}

async function collect<Row>(batches: AsyncIterable<readonly Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const batch of batches) rows.push(...batch);
  return rows;
}

function textOf(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

async function pages<Item>(
  list: (query: PageQuery<never>) => Promise<Page<Item>>,
  accountId: string,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await list({ accountId, limit: 2, cursor, status: undefined });
    items.push(...page.items);
    if (page.nextCursor === undefined) return items;
    cursor = page.nextCursor;
  }
}

describe("archived months", () => {
  it("are read like those in the tables, across the edge between both", async () => {
    const before = await Promise.all(world.accounts.map(everything));
    expect(before[0]!["receipts plain"]).toHaveLength(10);
    expect(before[0]!["refunded receipts"]).toHaveLength(1);
    await world.months.archive(MAY);
    expect(await Promise.all(world.accounts.map(everything))).toEqual(before);
    await world.months.archive(JUNE);
    expect(await Promise.all(world.accounts.map(everything))).toEqual(before);
    expect(await world.audit(true)).toEqual([]);
  });

  it("replay a payment's call with its receipt, and refuse a refund that names the command", async () => {
    const [account] = world.accounts;
    const { instance } = world;
    const ledger = new PostgresLedger({
      ...{ pool: instance.pool, instanceId: instance.instanceId, leaseMs: 15_000, leases: instance.leases },
      archivedReceipt: async (of, runId) => (await reading.history.ofRun(of, runId))?.receipt,
    });
    const again = await ledger.authorize(callOf(account, { payment: paymentOf(deposit) }));
    expect(again).toMatchObject({
      kind: "replay",
      receipt: { debited: PRICE, txSignature: deposit.reference },
    });

    const refund = { receiptId: world.bought[0]!.receiptId, reason: "late" };
    await expect(new PostgresRefunds(instance.pool).refund(refund)).rejects.toThrow(
      "toolgate archive restore 2026-05",
    );
    const events = await new PostgresRequestTimelines(instance.pool).eventsOf({
      ...{ kind: "run", id: world.bought[0]!.runId },
    });
    expect(events).toMatchObject([{ event: "archived", details: { month: MAY } }]);
  });

  it("are an error that names the month when a file is missing, and never a shorter list", async () => {
    const [account, other] = world.accounts;
    await rm(path.join(world.folder, MAY), { recursive: true });
    // Without a manifest in memory.
    const archive = await openArchive({
      ARCHIVE_URL: pathToFileURL(world.folder).href,
      AWS_REGION: "us-east-1",
    });
    const unread = new PostgresReceipts(world.instance.pool, new ArchivedRows(archive));
    const list = (accountId: string, limit: number) =>
      unread.list({ accountId, limit, cursor: undefined, status: undefined });
    await expect(list(other, 10)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: expect.stringContaining(MAY),
    });
    await expect(list(account, 100)).rejects.toThrow(MAY);
    expect((await list(account, 1)).items).toHaveLength(1);
  });
});
