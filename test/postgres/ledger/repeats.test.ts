import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import { callOf, chargeOf, completed, depositOf, makeAccount, paymentOf, PRICE } from "../fixture.ts";
import {
  movementOf,
  movementOfDeposit,
  openTreasurer,
  watchedAccount,
  type Treasurer,
} from "../treasury/treasury-fixture.ts";
import { NETWORK } from "../../../src/domain/payments/body-proof.ts";

// A repeat reports the first result, not an error: a retry after a lost response
// must not look like a failure.
let database: TestDatabase;
let one: Treasurer;
let token: string;
let account: string;

beforeAll(async () => {
  database = await createTestDatabase();
  one = openTreasurer(database.url);
});
afterAll(async () => {
  await one.close();
  await database.drop();
});
beforeEach(async () => {
  token = await watchedAccount(one, 9n);
  account = await makeAccount(one.pool, 0n);
});

const balance = () => one.ledger.balance(account);

describe("a repeat reports the first result", () => {
  it("of a payment credit", async () => {
    const deposit = depositOf();
    expect(await one.ledger.credit(account, deposit)).toEqual({ credited: true, balance: PRICE });
    await expect(one.ledger.credit(account, deposit)).resolves.toEqual({ credited: false, balance: PRICE });
  });

  it("of a reversal", async () => {
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    expect(await one.books.reverse(deposit)).toMatchObject({ balance: 0n });
    await expect(one.books.reverse(deposit)).resolves.toBeUndefined();
    expect(await balance()).toBe(0n);
  });

  it("of a finalization: the payment is not reversed", async () => {
    const deposit = depositOf({ finalized: true });
    await one.ledger.credit(account, deposit);
    await expect(one.books.reverse(deposit)).resolves.toBeUndefined();
    expect(await balance()).toBe(PRICE);
  });

  it("of a reversal: the payment is not finalized without its movement", async () => {
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    await one.books.reverse(deposit);
    await expect(one.books.finalize(NETWORK, [deposit.reference])).resolves.toBe(0);
    expect(await balance()).toBe(0n);
  });

  it("of a reinstatement", async () => {
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    await one.books.reverse(deposit);
    const movement = movementOfDeposit(deposit, account);
    await expect(one.books.record(token, movement)).resolves.toBe("reinstated");
    await expect(one.books.record(token, movement)).resolves.toBe("known");
    expect(await balance()).toBe(PRICE);
  });

  it.each([
    ["withdrawn", -5n],
    ["suspended", 5n],
  ])("of a movement that was %s", async (outcome, change) => {
    const movement = movementOf({ change });
    expect(await one.books.record(token, movement)).toBe(outcome);
    await expect(one.books.record(token, movement)).resolves.toBe("known");
    expect(await one.books.watch(token)).toMatchObject({ expected: 9n + change });
  });

  it("of a started watch", async () => {
    await expect(one.books.startWatch(token, { amount: 70n, slot: 7n })).resolves.toBeUndefined();
    expect(await one.books.watch(token)).toMatchObject({ opening: 9n, slot: 0n });
  });

  it("of an assignment, to its owner only", async () => {
    const { txSignature } = movementOf();
    await one.books.record(token, movementOf({ txSignature }));
    const assignment = { txSignature, to: { accountId: account }, reason: "his" };
    expect(await one.suspense.assign(assignment)).toMatchObject({ status: "assigned" });
    await expect(one.suspense.assign(assignment)).resolves.toMatchObject({ status: "assigned" });
    await expect(one.suspense.assign({ ...assignment, to: "operator" })).rejects.toMatchObject({
      code: "INVALID_REQUEST",
    });
    expect(await balance()).toBe(PRICE);
  });

  it("of a refund", async () => {
    const call = callOf(account, { payment: paymentOf(depositOf()) });
    await one.ledger.authorize(call);
    const receiptId = await chargeOf(one.ledger, completed(call));
    expect(await one.refunds.refund({ receiptId, reason: "r" })).toMatchObject({ refunded: true });
    await expect(one.refunds.refund({ receiptId, reason: "r" })).resolves.toMatchObject({ refunded: false });
    expect(await balance()).toBe(PRICE);
  });
});
