import { describe, expect, it } from "vitest";
import { Quotes } from "../../../src/domain/payments/quote.ts";
import type { Postgres } from "../../../src/postgres/index.ts";
import { PostgresSealingKeys } from "../../../src/postgres/payments/sealing-keys.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { closing, openDatabase } from "../../support/postgres.ts";
import { fingerprintOf, makeAccount, openInstance, PRICE, callOf, silent } from "../fixture.ts";
import { openStarted } from "../open-postgres.ts";
import { uuidOf } from "../../../src/domain/core/ids.ts";

const LEASE_MS = 900;

const database = await openDatabase();
const instances: Postgres[] = await Promise.all(
  Array.from({ length: 4 }, () => openStarted(database.url, { leaseMs: LEASE_MS })),
);
for (const instance of instances) closing(instance);

describe("sealing keys", () => {
  it("shares one sealing key between instances that start on an empty database at once", () => {
    const keys = instances.map(({ sealingKeys }) => sealingKeys.current());
    for (const key of keys) expect(key).toMatchObject({ version: 1, secret: keys[0]?.secret });
  });

  it("activates a new sealing key after every instance knows it, and old quotes still open", async () => {
    const [one, two] = [instances[0]!, instances[1]!];
    const issue = (postgres: Postgres, atMs = 0) =>
      new Quotes(postgres.sealingKeys, { now: () => Date.now() + atMs }, systemRandom, 300);
    const accountId = `acct_${"0".repeat(31)}1`;
    const old = issue(one).issue(accountId, 1n, fingerprintOf("q"));
    expect(await one.sealingKeyAdmin.rotate({ purpose: "quotes", now: false })).toMatchObject({ version: 2 });
    expect(one.sealingKeys.current().version).toBe(1);
    await expect.poll(() => two.sealingKeys.version(2), { interval: 100 }).toMatchObject({ version: 2 });
    expect(issue(two).open(old.quoteId)).toMatchObject({ accountId, price: 1n });

    const { pool, close } = openInstance(database.url);
    const later = await PostgresSealingKeys.open({
      pool,
      random: systemRandom,
      clock: systemClock,
      log: silent,
    });
    expect(later.current().version).toBe(1);
    await pool.query("update sealing_key set active_from = now() where version = 2");
    await later.reload();
    expect(later.current().version).toBe(2);
    await close();
  });
});

describe("an instance", () => {
  it("reports healthy while the database responds, without waiting forever", async () => {
    const { health } = instances[0]!;
    await expect.poll(() => health.check(AbortSignal.timeout(60_000))).toBe(true);
    expect(await health.check(AbortSignal.abort())).toBe(false);
  });

  it("renews leases of running calls, and releases the calls of a stopped instance", async () => {
    const { pool, close } = openInstance(database.url);
    const account = await makeAccount(pool, 2n * PRICE);
    const call = callOf(account);
    await instances[0]!.ledger.authorize(call);
    const leased = "select extract(epoch from lease_until) * 1000 as until from run where id = $1";
    const until = async () => Number((await pool.query(leased, [uuidOf("run", call.runId)])).rows[0].until);
    const first = await until();
    await expect.poll(until).toBeGreaterThan(first + 2 * LEASE_MS);
    const { runs } = instances[1]!.accountQueries;
    expect(await runs.find(account, call.runId)).toMatchObject({ status: "active" });
    await instances[0]!.stop();
    await expect
      .poll(() => runs.find(account, call.runId))
      .toMatchObject({
        status: "failed",
        error: { code: "UNAVAILABLE", message: expect.stringContaining("instance") },
      });
    expect(await instances[1]!.ledger.balance(account)).toBe(2n * PRICE);
    await close();
  });
});
