import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { PostgresReceipts } from "../../../src/postgres/ledger/history.ts";
import { adjustBalance } from "../../support/operator-acts.ts";
import { signatureFrom } from "../../../src/postgres/database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../../../src/postgres/database/system-accounts.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  expectCleanAudit,
  inTransaction,
  failed,
  fingerprintOf,
  paymentOf,
  PRICE,
  openLedger,
} from "../fixture.ts";
import { movementOf, movementOfDeposit, watchedAccount } from "./treasury-fixture.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";

const { one, two, instances } = await openLedger();
const token = await watchedAccount(one);

/** A paid and charged call with its receipt. */
async function paidCall(account: string, change: Parameters<typeof callOf>[1] = {}) {
  const deposit = depositOf();
  const call = await one.start(account, { payment: paymentOf(deposit), ...change });
  return { deposit, call, receiptId: await chargeOf(one.ledger, completed(call)) };
}

/** Turns of the event loop. */
async function afterTurns(count: number): Promise<void> {
  for (let n = 0; n < 4 * count; n++) await turn();
}

/** Sum of the transfers of a kind. */
async function sumOf(kind: string, accounts: readonly string[]) {
  const { rows } = await one.pool.query<{ count: bigint; amount: bigint }>(
    `select count(*) as count, coalesce(sum(amount), 0)::bigint as amount from transfer
     where kind = $1 and (debit = any ($2::uuid[]) or credit = any ($2::uuid[]))`,
    [kind, accounts.map((account) => account.slice(5))],
  );
  return rows[0];
}

describe("refunds", () => {
  it("refunds a receipt once: the debit returns to its account", async () => {
    const account = await one.account();
    const { receiptId } = await paidCall(account);
    expect(await one.refunds.refund({ receiptId, reason: "wrong answer" })).toMatchObject({
      refunded: true,
      receipt: { receiptId, status: "refunded", refunded: PRICE, debited: PRICE },
    });
    // A repeat reports the first result: a retry after a lost response must not look like a failure.
    await expect(two.refunds.refund({ receiptId, reason: "again" })).resolves.toMatchObject({
      refunded: false,
      receipt: { receiptId, status: "refunded", refunded: PRICE },
    });
    expect(await one.balance(account)).toBe(PRICE);
  });

  it("rejects the refund of an unknown receipt", async () => {
    for (const receiptId of ["rcpt_nonsense", `rcpt_${"0".repeat(32)}`, `run_${"0".repeat(32)}`]) {
      await expect(one.refunds.refund({ receiptId, reason: "r" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    }
  });

  it("refunds each of 100 receipts once under two concurrent requests each", async () => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => one.account(5n * PRICE)));
    const calls = Array.from({ length: 100 }, (_, n) => callOf(accounts[n % 20]!));
    await Promise.all(calls.map((call) => one.ledger.authorize(call)));
    const receiptIds = await Promise.all(calls.map((call) => chargeOf(one.ledger, completed(call))));
    for (const account of accounts) expect(await one.balance(account)).toBe(0n);
    const refunds = await Promise.all(
      receiptIds.flatMap((receiptId, n) =>
        [n, n + 1].map((at) => instances[at % 3]!.refunds.refund({ receiptId, reason: "all of them" })),
      ),
    );
    expect(refunds.filter(({ refunded }) => refunded)).toHaveLength(100);
    expect(refunds.filter(({ refunded }) => !refunded)).toHaveLength(100);
    for (const account of accounts) expect(await one.balance(account)).toBe(5n * PRICE);
    expect(await sumOf("refund", accounts)).toEqual({ count: 100n, amount: 100n * PRICE });
  });
});

describe("reversals", () => {
  it("reverses a payment once, below zero if spent, and blocks calls until the balance is covered", async () => {
    const account = await one.account();
    const { deposit, receiptId } = await paidCall(account);
    expect(await one.treasury.reverse(deposit)).toEqual({
      accountId: account,
      amount: PRICE,
      balance: -PRICE,
    });
    await expect(two.treasury.reverse(deposit)).resolves.toBeUndefined();
    expect(await one.authorize(account)).toEqual({ kind: "insufficient", balance: -PRICE });
    const next = callOf(account, { payment: paymentOf(depositOf()) });
    expect(await one.ledger.authorize(next)).toEqual({ kind: "insufficient", balance: 0n });
    const receipts = new PostgresReceipts(one.pool);
    expect(await receipts.find(account, receiptId)).toMatchObject({ status: "reversed", debited: PRICE });
    const query = { accountId: account, limit: 5, cursor: undefined };
    expect((await receipts.list({ ...query, status: "reversed" })).items).toHaveLength(1);
    expect((await receipts.list({ ...query, status: "final" })).items).toEqual([]);
  });

  it("reverses no unknown and no finalized payment", async () => {
    const account = await one.account();
    const [finalized, marked] = [depositOf({ finalized: true }), depositOf()];
    for (const deposit of [finalized, marked]) await one.ledger.credit(account, deposit);
    expect(
      await one.treasury.finalize(
        SOLANA,
        [finalized, marked, depositOf()].map(({ reference: txSignature }) => txSignature),
      ),
    ).toBe(1);
    for (const { reference: txSignature } of [finalized, marked, depositOf()])
      await expect(
        one.treasury.reverse({ network: SOLANA, reference: txSignature }),
      ).resolves.toBeUndefined();
    expect(await one.balance(account)).toBe(2n * PRICE);
  });

  it("replays the call of a reversed payment, which buys nothing else", async () => {
    const account = await one.account(10n * PRICE);
    const { deposit, call } = await paidCall(account, { idempotencyKey: "k" });
    await one.treasury.reverse(deposit);
    const payment = paymentOf(deposit);
    for (const idempotencyKey of ["k", "l", undefined]) {
      expect(await two.authorize(account, { idempotencyKey, payment })).toMatchObject({
        kind: "replay",
        receipt: { runId: call.runId, status: "reversed" },
      });
    }
    const other = await one.account(10n * PRICE);
    for (const stranger of [
      callOf(account, { payment, fingerprint: fingerprintOf("other") }),
      callOf(account, { payment, fingerprint: fingerprintOf("other"), idempotencyKey: "m" }),
      callOf(other, { payment }),
    ]) {
      expect(await two.ledger.authorize(stranger)).toEqual({ kind: "reversed" });
    }
    expect(await one.balance(account)).toBe(9n * PRICE);
    expect(await one.balance(other)).toBe(10n * PRICE);
  });

  it("rejects a reversed payment whether it was only credited or its call had failed", async () => {
    const account = await one.account(10n * PRICE);
    const credited = depositOf();
    await one.ledger.credit(account, credited);
    const tried = depositOf();
    const call = await one.fail(account, { payment: paymentOf(tried) });
    for (const deposit of [credited, tried]) {
      await one.treasury.reverse(deposit);
      const query = {
        ...deposit,
        accountId: account,
        fingerprint: call.fingerprint,
        idempotencyKey: undefined,
      };
      expect(await two.ledger.findPrior(query)).toEqual({ kind: "reversed" });
      for (const payment of [paymentOf(deposit), { ...paymentOf(deposit), transfer: undefined }]) {
        expect(await two.authorize(account, { payment })).toEqual({ kind: "reversed" });
        expect(await two.authorize(account, { payment, idempotencyKey: "k" })).toEqual({
          kind: "reversed",
        });
      }
      expect(await two.ledger.credit(account, deposit)).toMatchObject({ credited: false });
    }
    expect(await one.balance(account)).toBe(10n * PRICE);
  });

  it("reinstates a payment that reappears once, and its receipt becomes final again", async () => {
    const account = await one.account();
    const { deposit, call, receiptId } = await paidCall(account);
    await one.treasury.reverse(deposit);
    const movement = movementOfDeposit(deposit, account);
    const outcomes = await Promise.all(
      Array.from({ length: 9 }, (_, n) => instances[n % 3]!.treasury.record(token, movement)),
    );
    expect(outcomes.filter((outcome) => outcome === "reinstated")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "known")).toHaveLength(8);
    expect(await one.balance(account)).toBe(0n);
    expect(await new PostgresReceipts(one.pool).find(account, receiptId)).toMatchObject({ status: "final" });
    expect(await two.treasury.reverse(deposit)).toBeUndefined();
    expect(await two.authorize(account, { payment: paymentOf(deposit) })).toMatchObject({
      kind: "replay",
      receipt: { runId: call.runId, status: "final" },
    });
  });

  it("lets a reinstated payment buy its call again", async () => {
    const account = await one.account();
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    await one.treasury.reverse(deposit);
    await two.treasury.record(token, movementOfDeposit(deposit, account));
    expect(await one.balance(account)).toBe(PRICE);
    expect(await two.authorize(account, { payment: paymentOf(deposit) })).toEqual({
      kind: "started",
    });
  });

  it("reverses each of 100 payments once under two concurrent requests each", async () => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => one.account()));
    const deposits = Array.from({ length: 100 }, () => depositOf());
    await Promise.all(deposits.map((deposit, n) => one.ledger.credit(accounts[n % 20]!, deposit)));
    const taken = await Promise.all(
      deposits.flatMap(({ reference: txSignature }, n) =>
        [n, n + 1].map((at) =>
          instances[at % 3]!.treasury.reverse({ network: SOLANA, reference: txSignature }),
        ),
      ),
    );
    // A retry reports a reversal again.
    expect(taken.filter((reversal) => reversal).length).toBeGreaterThanOrEqual(100);
    for (const account of accounts) expect(await one.balance(account)).toBe(0n);
    expect(await sumOf("reversal", accounts)).toEqual({ count: 100n, amount: 100n * PRICE });
    expect(await sumOf("deposit", accounts)).toEqual(await sumOf("reversal", accounts));
  });

  it("books a payment consistently when its call and its reversal race", async () => {
    const account = await one.account();
    const kinds = new Set<string>();
    for (let round = 0; round < 300 && (round < 30 || kinds.size < 2); round++) {
      const deposit = depositOf();
      const payment = paymentOf(deposit);
      const before = await one.balance(account);
      await one.ledger.credit(account, deposit);
      if (round % 2 === 0) {
        const tried = callOf(account, { payment });
        if ((await one.ledger.authorize(tried)).kind === "started") await one.ledger.release(failed(tried));
      }
      // With its own key, so that the payment is claimed again.
      const call = callOf(account, { payment, idempotencyKey: `key ${round}` });
      // Each side gets a head start in turn, so that both can win.
      const [started, reversal] = await Promise.all([
        afterTurns(round % 2 === 0 ? round % 8 : 0).then(() => one.ledger.authorize(call)),
        afterTurns(round % 2 === 1 ? round % 8 : 0).then(() => two.treasury.reverse(deposit)),
      ]);
      expect(["started", "reversed"]).toContain(started.kind);
      expect(reversal).toMatchObject({ accountId: account, amount: PRICE });
      const spent = started.kind === "started" ? PRICE : 0n;
      expect(await one.balance(account)).toBe(before - spent);
      kinds.add(started.kind);
      if (started.kind !== "started") continue;
      await one.ledger.capture(completed(call));
      await adjustBalance(one.pool, account.slice(5), { change: PRICE, key: deposit.reference });
    }
    expect(kinds.size).toBe(2);
  });

  it("reverses an assigned payment from the account that holds it now", async () => {
    const account = await one.account();
    const [lying, given, operators] = [movementOf(), movementOf(), movementOf()];
    for (const movement of [lying, given, operators]) await one.treasury.record(token, movement);
    await one.suspense.assign({ txSignature: given.txSignature, to: { accountId: account }, reason: "his" });
    await one.suspense.assign({ txSignature: operators.txSignature, to: "operator", reason: "ours" });
    const { amount } = await one.treasury.suspended();
    await inTransaction(one.pool, async (client) => {
      // Accepted before finality, unlike by the watch.
      await client.query("update payment set finalized = false where account_id = $1", [
        SYSTEM_ACCOUNTS.suspense,
      ]);
      const call = "select * from treasury_reverse('solana-mainnet', $1)";
      const reverse = async (txSignature: string) =>
        (await client.query(call, [signatureFrom(txSignature)])).rows;
      expect(await reverse(lying.txSignature)).toEqual([
        { account_id: SYSTEM_ACCOUNTS.suspense, amount: PRICE, balance: amount - PRICE },
      ]);
      expect(await reverse(given.txSignature)).toMatchObject([{ amount: PRICE, balance: 0n }]);
      expect(await reverse(operators.txSignature)).toMatchObject([{ account_id: SYSTEM_ACCOUNTS.operator }]);
      const { rows } = await client.query("select available from account where id = $1", [account.slice(5)]);
      expect(rows).toEqual([{ available: 0n }]);
    });
  });
});

describe("payments waiting for finality", () => {
  it("are listed oldest first, postponed ones last", async () => {
    const account = await one.account();
    const deposits = Array.from({ length: 4 }, (_, n) =>
      depositOf({ slot: BigInt(n), amount: BigInt(n + 1) }),
    );
    for (const deposit of deposits) await one.ledger.credit(account, deposit);
    await one.ledger.credit(account, depositOf({ finalized: true }));
    const mine = new Set(deposits.map(({ reference: txSignature }) => txSignature));
    const waiting = async (limit = 100) =>
      (await two.treasury.unfinalized({ network: SOLANA, minAgeMs: 0, limit })).filter(
        ({ reference: txSignature }) => mine.has(txSignature),
      );
    expect(await waiting()).toEqual(
      deposits.map(({ reference, slot, amount }) => ({ reference, slot, amount })),
    );
    await one.treasury.postpone(SOLANA, [deposits[0]!.reference, deposits[1]!.reference]);
    const slots = (await waiting()).map(({ slot }) => slot);
    expect(slots.slice(0, 2)).toEqual([2n, 3n]);
    expect(new Set(slots.slice(2))).toEqual(new Set([0n, 1n]));
    await one.treasury.reverse(deposits[2]!);
    expect(await one.treasury.finalize(SOLANA, [deposits[3]!.reference, deposits[3]!.reference])).toBe(1);
    await expect(
      one.treasury.finalize(SOLANA, [deposits[3]!.reference, deposits[2]!.reference]),
    ).resolves.toBe(0);
    expect(new Set((await waiting()).map(({ slot }) => slot))).toEqual(new Set([0n, 1n]));
    expect(await two.treasury.unfinalized({ network: SOLANA, minAgeMs: 3_600_000, limit: 100 })).toEqual([]);
    await one.treasury.finalize(
      SOLANA,
      deposits.map(({ reference: txSignature }) => txSignature),
    );
  });

  it("are counted once when several instances finalize them", async () => {
    const account = await one.account();
    const deposits = Array.from({ length: 60 }, () => depositOf());
    await Promise.all(deposits.map((deposit) => one.ledger.credit(account, deposit)));
    const signatures = deposits.map(({ reference: txSignature }) => txSignature);
    const counts = await Promise.all(
      instances.map(({ treasury }, n) =>
        treasury.finalize(SOLANA, n % 2 === 0 ? signatures : signatures.toReversed()),
      ),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(60);
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
