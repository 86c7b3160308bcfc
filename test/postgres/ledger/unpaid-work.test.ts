import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UNPAID_PER_HOUR } from "../../../src/app/calls/unpaid-work.ts";
import { newId } from "../../../src/domain/core/ids.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { PostgresUnpaidWork } from "../../../src/postgres/ledger/unpaid-work.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { createTestDatabase, servingUrl, type TestDatabase } from "../../support/postgres.ts";
import { openInstance, type Instance } from "../fixture.ts";

const silent = { info: () => {}, warn: () => {}, error: () => {} };
const MINUTE = 60_000;
let database: TestDatabase;
let owner: Instance;
let one: Counting;
let two: Counting;

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

const newAccount = () => newId("acct", systemClock, systemRandom);

async function add(accountId: string, count: number, charged = 0): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => one.work.add(accountId, "t", charged)));
}

beforeAll(async () => {
  database = await createTestDatabase();
  owner = openInstance(database.url);
  [one, two] = [open(), open()];
});
afterAll(async () => {
  await Promise.all([one.close(), two.close(), owner.close()]);
  await database.drop();
});

describe("unpaid work", () => {
  it("refuses the account's calls of the tool beyond the hourly limit on every instance, and no others", async () => {
    const account = newAccount();
    await add(account, UNPAID_PER_HOUR - 1);
    expect(one.work.blockedMs(account, "t")).toBe(0);
    await add(account, 1);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(2 * MINUTE);
    expect(one.work.blockedMs(account, "t")).toBeLessThanOrEqual(3 * MINUTE);
    await expect.poll(() => two.work.blockedMs(account, "t")).toBeGreaterThan(2 * MINUTE);
    for (const { work } of [one, two]) {
      expect(work.blockedMs(account, "other")).toBe(0);
      expect(work.blockedMs(newAccount(), "t")).toBe(0);
    }
  });

  it("is known to an instance that starts later", async () => {
    const account = newAccount();
    await add(account, UNPAID_PER_HOUR);
    const late = open();
    await expect.poll(() => late.work.blockedMs(account, "t")).toBeGreaterThan(2 * MINUTE);
    await late.close();
  });

  it("is paid off over time: work beyond the limit refuses for as long, at most about an hour", async () => {
    const account = newAccount();
    await add(account, UNPAID_PER_HOUR + 9);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(29 * MINUTE);
    expect(one.work.blockedMs(account, "t")).toBeLessThanOrEqual(30 * MINUTE);
    await add(account, 5 * UNPAID_PER_HOUR);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(62 * MINUTE);
    expect(one.work.blockedMs(account, "t")).toBeLessThanOrEqual(63 * MINUTE);
  });

  it("allows one more per twenty charged calls, without accumulating credit", async () => {
    const account = newAccount();
    await add(account, 2 * UNPAID_PER_HOUR, 20);
    expect(one.work.blockedMs(account, "t"), "two of a hundred fail").toBe(0);
    await add(account, 1, 1_000_000_000);
    await add(account, UNPAID_PER_HOUR - 2);
    expect(one.work.blockedMs(account, "t")).toBe(0);
    await add(account, 1);
    expect(one.work.blockedMs(account, "t")).toBeGreaterThan(0);
  });

  it("leaves no row once it is paid off", async () => {
    const account = newAccount();
    await add(account, 1);
    await owner.pool.query("update unpaid_work set free_at = now() - interval '1 second'");
    await add(account, 1);
    const { rows } = await owner.pool.query<{ count: bigint }>("select count(*) from unpaid_work");
    expect(rows[0]?.count).toBeLessThanOrEqual(1n);
  });
});
