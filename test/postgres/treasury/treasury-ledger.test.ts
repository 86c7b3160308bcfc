import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { expectedTreasuryBalance } from "../../../src/postgres/treasury/expected-treasury-balance.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { callOf, depositOf, expectCleanAudit, makeAccount, paymentOf, PRICE } from "../fixture.ts";
import {
  movementOf,
  movementOfDeposit,
  openTreasurer,
  unknownAccountId,
  watchedAccount,
  type Treasurer,
} from "./treasury-fixture.ts";

let database: TestDatabase;
let one: Treasurer;
let two: Treasurer;
let three: Treasurer;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  [one, two, three] = [openTreasurer(database.url), openTreasurer(database.url), openTreasurer(database.url)];
  token = await watchedAccount(one);
});
afterAll(async () => {
  await Promise.all([one, two, three].map((instance) => instance.close()));
  await database.drop();
});
afterEach(() => expectCleanAudit(one.pool));

describe("a treasury movement", () => {
  it("is credited to its quote's account once, without a proof", async () => {
    const account = await makeAccount(one.pool, 0n);
    const movement = movementOfDeposit(depositOf(), account);
    expect(await one.books.record(token, movement)).toBe("credited");
    expect(await two.books.record(token, movement)).toBe("known");
    expect(await one.ledger.balance(account)).toBe(PRICE);
  });

  it("finalizes a proven payment and credits nothing again", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    await one.ledger.authorize(callOf(account, { payment: paymentOf(deposit) }));
    expect(await two.books.record(token, movementOfDeposit(deposit, account))).toBe("finalized");
    expect(await one.ledger.balance(account)).toBe(0n);
    expect(await one.books.reverse(deposit)).toBeUndefined();
  });

  it("goes to suspense without an owner or with an unknown account", async () => {
    const before = await one.books.suspended();
    expect(await one.books.record(token, movementOf({ memos: "hello\0" }))).toBe("suspended");
    expect(await one.books.record(token, movementOfDeposit(depositOf(), unknownAccountId()))).toBe(
      "suspended",
    );
    expect(await one.books.suspended()).toEqual({
      count: before.count + 2,
      amount: before.amount + 2n * PRICE,
    });
  });

  it("is booked to the operator when it leaves the treasury", async () => {
    const { expected = 0n } = (await one.books.watch(token)) ?? {};
    const debt = await expectedTreasuryBalance(database.url);
    const movement = movementOf({ change: -7n });
    expect(await one.books.record(token, movement)).toBe("withdrawn");
    expect(await two.books.record(token, movement)).toBe("known");
    expect(await one.books.watch(token)).toMatchObject({ expected: expected - 7n });
    expect(await expectedTreasuryBalance(database.url)).toBe(debt - 7n);
  });

  it("is booked for each of two treasuries that one transaction debits", async () => {
    const former = await watchedAccount(one, 10n);
    const debt = await expectedTreasuryBalance(database.url);
    const movement = movementOf({ change: -7n });
    expect(await one.books.record(former, movement)).toBe("withdrawn");
    expect(await one.books.record(token, { ...movement, change: -3n })).toBe("withdrawn");
    expect(await one.books.record(former, movement)).toBe("known");
    expect(await one.books.watch(former)).toMatchObject({ expected: 3n });
    expect(await expectedTreasuryBalance(database.url)).toBe(debt - 10n);
  });

  it("is not recorded when it changes nothing", async () => {
    const movement = movementOf({ change: 0n });
    expect(await one.books.record(token, movement)).toBe("known");
    expect(await one.books.unrecorded(token, [movement.txSignature])).toHaveLength(1);
  });

  it("changes nothing when its amount differs from the credit, and is reported again", async () => {
    const account = await makeAccount(one.pool, 0n);
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const other = { ...movementOfDeposit(deposit, account), change: PRICE + 1n };
    const watch = await one.books.watch(token);
    for (const _ of [1, 2]) expect(await one.books.record(token, other)).toBe("mismatch");
    expect(await one.ledger.balance(account)).toBe(PRICE);
    expect(await one.books.watch(token)).toEqual(watch);
    expect(await one.books.unrecorded(token, [deposit.reference])).toEqual([
      { txSignature: deposit.reference, credited: PRICE },
    ]);
  });

  it("is rejected for an account without a watch", async () => {
    const account = await makeAccount(one.pool, 0n);
    const movement = movementOfDeposit(depositOf(), account);
    const nobodys = base58.encode(randomBytes(32));
    await expect(one.books.record(nobodys, movement)).rejects.toThrow("has not started");
    expect(await one.ledger.balance(account)).toBe(0n);
  });

  it("is booked once when several instances record it", async () => {
    const account = await makeAccount(one.pool, 0n);
    const movements = [
      ...Array.from({ length: 10 }, () => movementOfDeposit(depositOf(), account)),
      ...Array.from({ length: 10 }, () => movementOf()),
      ...Array.from({ length: 10 }, () => movementOf({ change: -3n })),
    ];
    const before = (await one.books.watch(token))?.expected ?? 0n;
    const outcomes = await Promise.all(
      movements.flatMap((movement) => [one, two, three].map(({ books }) => books.record(token, movement))),
    );
    const counts = Object.groupBy(outcomes, (outcome) => outcome);
    expect(Object.fromEntries(Object.entries(counts).map(([outcome, all]) => [outcome, all.length]))).toEqual(
      {
        credited: 10,
        suspended: 10,
        withdrawn: 10,
        known: 60,
      },
    );
    expect(await one.ledger.balance(account)).toBe(10n * PRICE);
    expect((await one.books.watch(token))?.expected).toBe(before + 20n * PRICE - 30n);
  });
});
