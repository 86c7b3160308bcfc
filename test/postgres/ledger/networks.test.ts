import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NETWORK } from "../../../src/domain/payments/body-proof.ts";
import { expectedTreasuryBalance } from "../../../src/postgres/treasury/expected-treasury-balance.ts";
import { PostgresTreasuryLedger } from "../../../src/postgres/treasury/treasury-ledger.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  fingerprintOf,
  makeAccount,
  openInstance,
  paymentOf,
  PRICE,
  type Instance,
} from "../fixture.ts";

let database: TestDatabase;
let instance: Instance;
let books: PostgresTreasuryLedger;

beforeAll(async () => {
  database = await createTestDatabase();
  instance = openInstance(database.url);
  books = new PostgresTreasuryLedger({ pool: instance.pool, instanceId: instance.instanceId });
});
afterEach(() => expectCleanAudit(instance.pool));
afterAll(async () => {
  await instance.close();
  await database.drop();
});

/** Payments on two networks whose stored references are the same bytes. */
function twins() {
  const bytes = randomBytes(32).toString("hex");
  const onSolana = depositOf({ reference: base58.encode(Buffer.from(bytes)) });
  return [onSolana, depositOf({ network: `test:${bytes.slice(0, 8)}`, reference: bytes })] as const;
}

describe("payments with one reference on two networks", () => {
  it("buy a call each, also in one batch, and are replayed apart", async () => {
    const account = await makeAccount(instance.pool, 0n);
    const calls = twins().map((deposit, n) =>
      callOf(account, { payment: paymentOf(deposit), fingerprint: fingerprintOf(`call ${n}`) }),
    );
    const started = await Promise.all(calls.map((call) => instance.ledger.authorize(call)));
    expect(started).toEqual([{ kind: "started" }, { kind: "started" }]);
    await Promise.all(calls.map((call, n) => instance.ledger.capture(completed(call, { answer: n }))));
    expect(await instance.ledger.balance(account)).toBe(0n);
    for (const [n, call] of calls.entries()) {
      const again = callOf(account, { payment: call.payment, fingerprint: call.fingerprint });
      expect(await instance.ledger.authorize(again)).toMatchObject({
        kind: "replay",
        result: { answer: n },
        receipt: { txSignature: call.payment?.reference },
      });
    }
  });

  it("raise the expected balance of the treasury on Solana by one of them", async () => {
    const account = await makeAccount(instance.pool, 0n);
    const [onSolana, elsewhere] = twins();
    const before = await expectedTreasuryBalance(database.url);
    for (const deposit of [onSolana, elsewhere]) await instance.ledger.credit(account, deposit);
    expect(await expectedTreasuryBalance(database.url)).toBe(before + onSolana.amount);
    await books.reverse(elsewhere);
    expect(await expectedTreasuryBalance(database.url)).toBe(before + onSolana.amount);
  });

  it("are looked up apart: one that is used leaves the other unknown", async () => {
    const account = await makeAccount(instance.pool, 0n);
    const [used, other] = twins();
    const call = callOf(account, { payment: paymentOf(used) });
    await instance.ledger.authorize(call);
    const query = { ...call, ...paymentOf(other), idempotencyKey: undefined };
    expect(await instance.ledger.findPrior(query)).toBeUndefined();
    expect(await instance.ledger.findPrior({ ...query, ...paymentOf(used) })).toEqual({
      kind: "in_progress",
    });
  });

  it("are listed, postponed, finalized and reversed apart", async () => {
    const account = await makeAccount(instance.pool, 0n);
    const [onSolana, elsewhere] = twins();
    for (const deposit of [onSolana, elsewhere]) await instance.ledger.credit(account, deposit);
    const listed = async (network: string): Promise<string[]> =>
      (await books.unfinalized({ network, minAgeMs: 0, limit: 100 })).map(({ reference }) => reference);
    expect(await listed(NETWORK)).toContain(onSolana.reference);
    expect(await listed(NETWORK)).not.toContain(elsewhere.reference);
    expect(await listed(elsewhere.network)).toEqual([elsewhere.reference]);
    await books.postpone(elsewhere.network, [elsewhere.reference]);
    expect(await books.reverse(elsewhere)).toMatchObject({ amount: PRICE, balance: PRICE });
    expect(await listed(elsewhere.network)).toEqual([]);
    expect(await books.finalize(elsewhere.network, [elsewhere.reference])).toBe(0);
    expect(await books.finalize(NETWORK, [onSolana.reference])).toBe(1);
    expect(await books.reverse(onSolana)).toBeUndefined();
    expect(await instance.ledger.balance(account)).toBe(PRICE);
  });

  it("are credited once each", async () => {
    const account = await makeAccount(instance.pool, 0n);
    for (const deposit of twins()) {
      expect(await instance.ledger.credit(account, deposit)).toMatchObject({ credited: true });
      expect(await instance.ledger.credit(account, deposit)).toMatchObject({ credited: false });
    }
    expect(await instance.ledger.balance(account)).toBe(2n * PRICE);
  });
});
