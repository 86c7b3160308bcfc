import { describe, expect, it } from "vitest";
import { UsageCounter } from "../../../src/postgres/accounts/usage-sql.ts";
import { PostgresUsageReports } from "../../../src/postgres/accounts/usage.ts";
import { PostgresRevenue } from "../../../src/postgres/accounts/revenue.ts";
import { datingOfEntries } from "../dated-entries.ts";
import { callOf, completed, failed, PRICE, openLedger, idOf } from "../fixture.ts";

const HOUR_MS = 3_600_000;

const { pool, one } = await openLedger();
const account = await one.account(1_000n * PRICE);
const since = new Date(Date.now() - 41 * 24 * HOUR_MS);

/** A run with the id of that time. */
function runAt(ms: number): string {
  return idOf("run", ms);
}

async function countedRows(): Promise<string[]> {
  const { rows } = await pool.query<{ row: string }>(
    "select usage_slot::text as row from usage_slot order by 1",
  );
  return rows.map(({ row }) => row);
}

const usageOf = () =>
  new PostgresUsageReports(pool).usage({
    accountId: account,
    from: since,
    to: undefined,
    hourly: false,
    by: "model",
    tool: undefined,
    keyId: undefined,
  });

const revenueOf = () => new PostgresRevenue(pool).revenue({ from: since, to: undefined });

describe("counted usage", () => {
  it("stores the model and the cost of calls with the end of their runs", async () => {
    const { ledger } = one;
    const ago = Date.now() - 3 * HOUR_MS;
    const paid = [
      { model: { model: "small", cost: 2_000n } },
      { model: { model: "small", cost: undefined } },
      { model: { model: "large", cost: 9_999n } },
      {},
    ];
    for (const [n, more] of paid.entries()) {
      const call = callOf(account, { runId: runAt(ago + n * 60_000) });
      await ledger.authorize(call);
      await ledger.capture({ ...completed(call), ...more });
    }
    const lost = callOf(account, { runId: runAt(ago) });
    await ledger.authorize(lost);
    await ledger.release({ ...failed(lost), model: { model: "large" } });
    await pool.query(datingOfEntries());
    const { models, failures } = await usageOf();
    expect(models).toEqual([
      { model: "small", usage: { charged: 2n, spent: 2n * PRICE, failed: 0n } },
      { model: "large", usage: { charged: 1n, spent: PRICE, failed: 1n } },
      { model: "", usage: { charged: 1n, spent: PRICE, failed: 0n } },
    ]);
    expect(failures).toEqual([{ code: "TOOL_FAILED", calls: 1n }]);
  });

  it("states revenue by account and margins by model, and no cost where it is unknown", async () => {
    const { accounts, models, ...sums } = await revenueOf();
    expect(accounts).toEqual([{ accountId: account, calls: 4n, charged: 4n * PRICE, refunded: 0n }]);
    expect(new Map(models.map(({ model, ...figures }) => [model, figures]))).toEqual(
      new Map([
        ["small", { calls: 2n, charged: 2n * PRICE, costed: PRICE, cost: 2_000n }],
        ["large", { calls: 1n, charged: PRICE, costed: PRICE, cost: 9_999n }],
        ["", { calls: 1n, charged: PRICE, costed: 0n, cost: 0n }],
      ]),
    );
    expect(sums).toEqual({ calls: 4n, charged: 4n * PRICE, refunded: 0n, accountCount: 1n });
  });

  it("changes no report, however many instances count at once", async () => {
    const before = [await usageOf(), await revenueOf()];
    const signal = new AbortController().signal;
    const counts = Array.from({ length: 4 }, () => new UsageCounter(pool).count(signal));
    const ended = await Promise.allSettled(counts);
    expect(ended.map(({ status }) => status)).toEqual(Array(4).fill("fulfilled"));
    const rows = await countedRows();
    expect(rows.length).toBeGreaterThan(3);
    expect([await usageOf(), await revenueOf()]).toEqual(before);
    await new UsageCounter(pool).count(signal);
    expect(await countedRows()).toEqual(rows);
  });

  it("counts nothing after the start of a run that may still fail", async () => {
    const early = Date.now() - 2 * HOUR_MS;
    const call = callOf(account, { runId: runAt(early) });
    await pool.query("update usage_mark set counted_to = $1", [new Date(early - HOUR_MS)]);
    await one.ledger.authorize(call);
    await new UsageCounter(pool).count(new AbortController().signal);
    const mark = async () =>
      (await pool.query<{ at: Date }>("select counted_to as at from usage_mark")).rows[0]?.at;
    expect((await mark())?.getTime()).toBeLessThanOrEqual(early);
    await one.ledger.release(failed(call));
    await new UsageCounter(pool).count(new AbortController().signal);
    expect((await mark())?.getTime()).toBeGreaterThan(early);
    expect((await usageOf()).total.failed).toBe(2n);
  });
});
