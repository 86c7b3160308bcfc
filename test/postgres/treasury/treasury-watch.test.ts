import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { expectedTreasuryBalance } from "../../../src/postgres/treasury/expected-treasury-balance.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { depositOf, expectCleanAudit, makeAccount } from "../fixture.ts";
import { movementOf, openTreasurer, type Treasurer } from "./treasury-fixture.ts";
import { NETWORK } from "../../../src/domain/payments/body-proof.ts";

let database: TestDatabase;
let treasurers: Treasurer[];
let one: Treasurer;
let two: Treasurer;

beforeAll(async () => {
  database = await createTestDatabase();
  treasurers = Array.from({ length: 4 }, () => openTreasurer(database.url));
  [one, two] = [treasurers[0]!, treasurers[1]!];
});
afterAll(async () => {
  await Promise.all(treasurers.map((treasurer) => treasurer.close()));
  await database.drop();
});
afterEach(() => expectCleanAudit(one.pool));

const newToken = () => base58.encode(randomBytes(32));

/** Expires the leader's lease. */
const expireLead = () => one.pool.query("update leadership set until = now() - interval '1 second'");

describe("treasury leadership", () => {
  it("belongs to one instance at a time until it resigns", async () => {
    for (let round = 0; round < 10; round++) {
      const asked = await Promise.all(
        treasurers.flatMap(({ books }) => [books.acquireLeadership(60_000), books.acquireLeadership(60_000)]),
      );
      expect(asked.filter(Boolean)).toHaveLength(2);
      const leader = Math.floor(asked.indexOf(true) / 2);
      expect(asked.lastIndexOf(true)).toBe(leader * 2 + 1);
      await treasurers[(leader + 1) % 4]!.books.releaseLeadership();
      expect(await treasurers[(leader + 1) % 4]!.books.acquireLeadership(60_000)).toBe(false);
      await treasurers[leader]!.books.releaseLeadership();
    }
  });

  it("passes to another instance after the lease expires, and not back to the stalled one", async () => {
    expect(await one.books.acquireLeadership(60_000)).toBe(true);
    expect(await two.books.acquireLeadership(60_000)).toBe(false);
    await expireLead();
    expect(await two.books.acquireLeadership(60_000)).toBe(true);
    expect(await one.books.acquireLeadership(60_000)).toBe(false);
    await one.books.releaseLeadership();
    expect(await two.books.acquireLeadership(60_000)).toBe(true);
    await two.books.releaseLeadership();
  });

  it("goes to the first that asks after expiry, also the previous leader", async () => {
    expect(await one.books.acquireLeadership(1)).toBe(true);
    await expireLead();
    expect(await one.books.acquireLeadership(60_000)).toBe(true);
    expect(await two.books.acquireLeadership(60_000)).toBe(false);
    await one.books.releaseLeadership();
  });
});

describe("a treasury watch", () => {
  it("starts once, and books the opening balance to the operator", async () => {
    const token = newToken();
    const debt = await expectedTreasuryBalance(database.url);
    expect(await one.books.watch(token)).toBeUndefined();
    await Promise.all(
      treasurers.map(({ books }, n) => books.startWatch(token, { amount: 50n, slot: BigInt(n) })),
    );
    await one.books.startWatch(token, { amount: 60n, slot: 70n });
    expect(await two.books.watch(token)).toMatchObject({ opening: 50n, expected: 50n });
    expect(await expectedTreasuryBalance(database.url)).toBe(debt + 50n);
  });

  it("moves forward only and returns the expected balance", async () => {
    const token = newToken();
    await one.books.startWatch(token, { amount: 0n, slot: 5n });
    const started = await one.books.watch(token);
    for (const change of [9n, -4n, 2n]) await one.books.record(token, movementOf({ change, slot: 6n }));
    await one.books.advanceWatch(token, 10n);
    await two.books.advanceWatch(token, 7n);
    const looked = (await one.books.watch(token))?.checkedAt;
    await one.books.advanceWatch(token, 9n, false);
    expect((await one.books.watch(token))?.checkedAt).toEqual(looked);
    const watch = await one.books.watch(token);
    expect(watch).toMatchObject({ slot: 10n, opening: 0n, expected: 7n });
    expect(watch!.checkedAt.getTime()).toBeGreaterThanOrEqual(started!.checkedAt.getTime());
  });

  it("returns unrecorded transactions in the given order, with their credits", async () => {
    const token = newToken();
    const other = newToken();
    for (const account of [token, other]) await one.books.startWatch(account, { amount: 0n, slot: 0n });
    const [recorded, elsewhere, unseen] = [movementOf(), movementOf({ change: -1n }), movementOf()];
    await one.books.record(token, recorded);
    await one.books.record(other, elsewhere);
    const proved = depositOf({ amount: 77n });
    await one.ledger.credit(await makeAccount(one.pool, 0n), proved);
    const asked = [unseen.txSignature, recorded.txSignature, proved.reference, elsewhere.txSignature];
    expect(await two.books.unrecorded(token, asked)).toEqual([
      { txSignature: unseen.txSignature, credited: undefined },
      { txSignature: proved.reference, credited: 77n },
      { txSignature: elsewhere.txSignature, credited: undefined },
    ]);
    expect(await two.books.unrecorded(token, [])).toEqual([]);
  });

  it("starts at installation: no sealing key is older", async () => {
    expect((await one.books.installedAt()).getTime()).toBeGreaterThan(0);
    await one.pool.query(
      `insert into sealing_key (version, secret, active_from, created_at)
        values (1, $1, now(), '2026-02-03T04:05:06Z'), (2, $1, now(), now())`,
      [randomBytes(32)],
    );
    expect(await one.books.installedAt()).toEqual(new Date("2026-02-03T04:05:06Z"));
  });

  it("keeps the installation time when sealing keys are replaced", async () => {
    const began = await one.books.installedAt();
    await one.books.startWatch(newToken(), { amount: 0n, slot: 0n });
    await one.pool.query("delete from sealing_key");
    await one.pool.query("insert into sealing_key (version, secret, active_from) values (3, $1, now())", [
      randomBytes(32),
    ]);
    expect(await one.books.installedAt()).toEqual(began);
    await one.books.startWatch(newToken(), { amount: 0n, slot: 0n });
    expect(await one.books.installedAt()).toEqual(began);
  });
});

describe("payments waiting for finality", () => {
  it("are listed oldest first, postponed ones last", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposits = Array.from({ length: 4 }, (_, n) =>
      depositOf({ slot: BigInt(n), amount: BigInt(n + 1) }),
    );
    for (const deposit of deposits) await one.ledger.credit(account, deposit);
    await one.ledger.credit(account, depositOf({ finalized: true }));
    const mine = new Set(deposits.map(({ reference: txSignature }) => txSignature));
    const waiting = async (limit = 100) =>
      (await two.books.unfinalized({ network: NETWORK, minAgeMs: 0, limit })).filter(
        ({ reference: txSignature }) => mine.has(txSignature),
      );
    expect(await waiting()).toEqual(
      deposits.map(({ reference, slot, amount }) => ({ reference, slot, amount })),
    );
    await one.books.postpone(NETWORK, [deposits[0]!.reference, deposits[1]!.reference]);
    const slots = (await waiting()).map(({ slot }) => slot);
    expect(slots.slice(0, 2)).toEqual([2n, 3n]);
    expect(new Set(slots.slice(2))).toEqual(new Set([0n, 1n]));
    await one.books.reverse(deposits[2]!);
    expect(await one.books.finalize(NETWORK, [deposits[3]!.reference, deposits[3]!.reference])).toBe(1);
    expect(await one.books.finalize(NETWORK, [deposits[3]!.reference, deposits[2]!.reference])).toBe(0);
    expect(new Set((await waiting()).map(({ slot }) => slot))).toEqual(new Set([0n, 1n]));
    expect(await two.books.unfinalized({ network: NETWORK, minAgeMs: 3_600_000, limit: 100 })).toEqual([]);
    await one.books.finalize(
      NETWORK,
      deposits.map(({ reference: txSignature }) => txSignature),
    );
  });

  it("are counted once when several instances finalize them", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposits = Array.from({ length: 60 }, () => depositOf());
    await Promise.all(deposits.map((deposit) => one.ledger.credit(account, deposit)));
    const signatures = deposits.map(({ reference: txSignature }) => txSignature);
    const counts = await Promise.all(
      treasurers.map(({ books }, n) =>
        books.finalize(NETWORK, n % 2 === 0 ? signatures : signatures.toReversed()),
      ),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
  });
});
