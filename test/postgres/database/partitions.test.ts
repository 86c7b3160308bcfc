import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makePartitions } from "../../../src/postgres/database/partitions.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { callOf, completed, expectCleanAudit, openInstance, PRICE, type Instance } from "../fixture.ts";

let database: TestDatabase;
/** With the rights of a gateway. */
let instance: Instance;
let owner: Instance;

beforeEach(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.servingUrl);
  owner = openInstance(database.url);
});
afterEach(async () => {
  await instance.close();
  await owner.close();
  await database.drop();
});

/** Partitions in use. */
async function partitions(): Promise<string[]> {
  const { rows } = await owner.pool.query<{ name: string }>(
    `select relid::regclass::text as name
     from unnest(array['run', 'receipt']) parent cross join pg_partition_tree(parent::regclass)
     where level = 1 order by 1`,
  );
  return rows.map(({ name }) => name);
}

async function nearMonths(): Promise<[string, string]> {
  const { rows } = await owner.pool.query<{ month: string; next: string }>(
    `select to_char(now() at time zone 'UTC', 'YYYY_MM') as month,
            to_char((now() at time zone 'UTC') + interval '1 month', 'YYYY_MM') as next`,
  );
  return [rows[0]?.month ?? "", rows[0]?.next ?? ""];
}

async function buyCalls(count: number): Promise<void> {
  const account = await owner.account(PRICE * BigInt(count));
  for (const call of Array.from({ length: count }, () => callOf(account))) {
    await instance.ledger.authorize(call);
    await instance.ledger.capture(completed(call));
  }
}

async function places(): Promise<unknown[]> {
  const { rows } = await owner.pool.query(
    `select tableoid::regclass::text as place, count(*)::integer from run group by 1
     union all select tableoid::regclass::text, count(*)::integer from receipt group by 1 order by 1`,
  );
  return rows;
}

describe("partitions of runs and receipts", () => {
  it("are there for this month and the next after a migration", async () => {
    const [month, next] = await nearMonths();
    const expected = ["receipt", "run"].flatMap((name) =>
      [month, next, "default"].map((part) => `${name}_${part}`),
    );
    expect(await partitions()).toEqual(expected);
  });

  it("are made again by an instance, with the rows that the default partition took meanwhile", async () => {
    const [month] = await nearMonths();
    const before = await partitions();
    await owner.pool.query(`drop table run_${month}, receipt_${month}`);
    await buyCalls(3);
    expect(await places()).toEqual([
      { place: "receipt_default", count: 3 },
      { place: "run_default", count: 3 },
    ]);
    await expect(makePartitions(instance.pool)).resolves.toBeUndefined();
    expect(await partitions()).toEqual(before);
    await buyCalls(1);
    expect(await places()).toEqual([
      { place: `receipt_${month}`, count: 4 },
      { place: `run_${month}`, count: 4 },
    ]);
    await expectCleanAudit(owner.pool);
  });

  it("are made once by instances that make them at once", async () => {
    const [month, next] = await nearMonths();
    const before = await partitions();
    await owner.pool.query(`drop table run_${month}, receipt_${month}, run_${next}, receipt_${next}`);
    // One that waits too long for the others fails, and its job runs again.
    await Promise.allSettled(Array.from({ length: 4 }, () => makePartitions(instance.pool)));
    await makePartitions(instance.pool);
    expect(await partitions()).toEqual(before);
  });

  it("refuse a change of a receipt when they are named themselves, also those made later", async () => {
    const [month, next] = await nearMonths();
    await owner.pool.query(`drop table receipt_${next}`);
    await makePartitions(owner.pool);
    for (const part of [month, next, "default"]) {
      for (const change of [
        "update receipt_# set debited = 1",
        "delete from receipt_#",
        "truncate receipt_#",
      ]) {
        const statement = change.replace("#", part);
        await expect(owner.pool.query(statement), statement).rejects.toThrow("is append-only");
      }
    }
  });
});
