import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { describe, expect, it } from "vitest";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";
import { expectedTreasuryBalance } from "../../../src/postgres/treasury/treasury-checks.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  fingerprintOf,
  paymentOf,
  PRICE,
  openLedger,
} from "../fixture.ts";

const { database, one } = await openLedger();

/** Payments on two networks whose stored references are the same bytes. */
function twins() {
  const bytes = randomBytes(32).toString("hex");
  const onSolana = depositOf({ reference: base58.encode(Buffer.from(bytes)) });
  return [onSolana, depositOf({ network: `test:${bytes.slice(0, 8)}`, reference: bytes })] as const;
}

describe("payments with one reference on two networks", () => {
  it("buy a call each, also in one batch, and are replayed apart", async () => {
    const account = await one.account();
    const calls = twins().map((deposit, n) =>
      callOf(account, { payment: paymentOf(deposit), fingerprint: fingerprintOf(`call ${n}`) }),
    );
    const started = await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    expect(started).toEqual([{ kind: "started" }, { kind: "started" }]);
    await Promise.all(calls.map((call, n) => one.ledger.capture(completed(call, { answer: n }))));
    expect(await one.balance(account)).toBe(0n);
    for (const [n, call] of calls.entries()) {
      const again = callOf(account, { payment: call.payment, fingerprint: call.fingerprint });
      expect(await one.ledger.authorize(again)).toMatchObject({
        kind: "replay",
        result: { answer: n },
        receipt: { txSignature: call.payment?.reference },
      });
    }
  });

  it("raise the expected balance of the treasury on Solana by one of them", async () => {
    const account = await one.account();
    const [onSolana, elsewhere] = twins();
    const before = await expectedTreasuryBalance(database.url);
    for (const deposit of [onSolana, elsewhere]) await one.ledger.credit(account, deposit);
    expect(await expectedTreasuryBalance(database.url)).toBe(before + onSolana.amount);
    await one.treasury.reverse(elsewhere);
    expect(await expectedTreasuryBalance(database.url)).toBe(before + onSolana.amount);
  });

  it("are looked up apart: one that is used leaves the other unknown", async () => {
    const account = await one.account();
    const [used, other] = twins();
    const call = await one.start(account, { payment: paymentOf(used) });
    const query = { ...call, ...paymentOf(other), idempotencyKey: undefined };
    expect(await one.ledger.findPrior(query)).toBeUndefined();
    expect(await one.ledger.findPrior({ ...query, ...paymentOf(used) })).toEqual({
      kind: "in_progress",
    });
  });

  it("are listed, postponed, finalized and reversed apart", async () => {
    const account = await one.account();
    const [onSolana, elsewhere] = twins();
    for (const deposit of [onSolana, elsewhere]) await one.ledger.credit(account, deposit);
    const listed = async (network: string): Promise<string[]> =>
      (await one.treasury.unfinalized({ network, minAgeMs: 0, limit: 100 })).map(
        ({ reference }) => reference,
      );
    expect(await listed(SOLANA)).toContain(onSolana.reference);
    expect(await listed(SOLANA)).not.toContain(elsewhere.reference);
    expect(await listed(elsewhere.network)).toEqual([elsewhere.reference]);
    await one.treasury.postpone(elsewhere.network, [elsewhere.reference]);
    expect(await one.treasury.reverse(elsewhere)).toMatchObject({ amount: PRICE, balance: PRICE });
    expect(await listed(elsewhere.network)).toEqual([]);
    expect(await one.treasury.finalize(elsewhere.network, [elsewhere.reference])).toBe(0);
    expect(await one.treasury.finalize(SOLANA, [onSolana.reference])).toBe(1);
    expect(await one.treasury.reverse(onSolana)).toBeUndefined();
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("are credited once each", async () => {
    const account = await one.account();
    for (const deposit of twins()) {
      expect(await one.ledger.credit(account, deposit)).toMatchObject({ credited: true });
      await expect(one.ledger.credit(account, deposit)).resolves.toMatchObject({ credited: false });
    }
    expect(await one.balance(account)).toBe(2n * PRICE);
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
