import { describe, expect, it } from "vitest";
import { UNPAID_PER_HOUR } from "../../../src/app/calls/unpaid-work.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { PostgresUnpaidWork } from "../../../src/postgres/ledger/unpaid-work.ts";
import { systemClock } from "../../../src/system.ts";
import { servingUrl, closing } from "../../support/postgres.ts";
import { openInstance, silent, idOf, openLedger } from "../fixture.ts";

const MINUTE = 60_000;
const { database, pool } = await openLedger();
const [one, two] = [closing(open()), closing(open())];

interface Counting {
  work: PostgresUnpaidWork;
  close(): Promise<void>;
}

function open(): Counting {
  const url = servingUrl(database.url);
  const instance = openInstance(url);
  const notifications = new Notifications({ url, log: silent });
  const work = new PostgresUnpaidWork({
    pool: instance.pool,
    clock: systemClock,
    notifications,
    log: silent,
  });
  notifications.start();
  const close = async () => {
    await notifications.stop();
    await instance.close();
  };
  return { work, close };
}

async function add(accountId: string, count: number, charged = 0): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => one.work.add(accountId, "t", charged)));
}

describe("unpaid work", () => {
  it("refuses the account's calls of the tool beyond the hourly limit on every instance, and no others", async () => {
    const account = idOf("acct");
    await add(account, UNPAID_PER_HOUR - 1);
    expect(one.work.blockedMs(account, "t")).toBe(0);
    await add(account, 1);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(2 * MINUTE);
    expect(one.work.blockedMs(account, "t")).toBeLessThanOrEqual(3 * MINUTE);
    await expect.poll(() => two.work.blockedMs(account, "t")).toBeGreaterThan(2 * MINUTE);
    for (const { work } of [one, two]) {
      expect(work.blockedMs(account, "other")).toBe(0);
      expect(work.blockedMs(idOf("acct"), "t")).toBe(0);
    }
  });

  it("is known to an instance that starts later", async () => {
    const account = idOf("acct");
    await add(account, UNPAID_PER_HOUR);
    const late = open();
    await expect.poll(() => late.work.blockedMs(account, "t")).toBeGreaterThan(2 * MINUTE);
    await late.close();
  });

  it("is paid off over time: work beyond the limit refuses for as long, at most about an hour", async () => {
    const account = idOf("acct");
    await add(account, UNPAID_PER_HOUR + 9);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(29 * MINUTE);
    expect(one.work.blockedMs(account, "t")).toBeLessThanOrEqual(30 * MINUTE);
    await add(account, 5 * UNPAID_PER_HOUR);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(62 * MINUTE);
    expect(one.work.blockedMs(account, "t")).toBeLessThanOrEqual(63 * MINUTE);
  });

  it("allows one more per twenty charged calls, without accumulating credit", async () => {
    const account = idOf("acct");
    await add(account, 2 * UNPAID_PER_HOUR, 20);
    expect(one.work.blockedMs(account, "t"), "two of a hundred fail").toBe(0);
    await add(account, 1, 1_000_000_000);
    await add(account, UNPAID_PER_HOUR - 2);
    expect(one.work.blockedMs(account, "t")).toBe(0);
    await add(account, 1);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(0);
  });

  it("leaves no row once it is paid off", async () => {
    const account = idOf("acct");
    await add(account, 1);
    await pool.query("update unpaid_work set free_at = now() - interval '1 second'");
    await add(account, 1);
    const { rows } = await pool.query<{ count: bigint }>("select count(*) from unpaid_work");
    expect(rows[0]?.count).toBeLessThanOrEqual(1n);
  });
});
