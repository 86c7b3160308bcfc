import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { describe, expect, it } from "vitest";
import { expectedTreasuryBalance } from "../../../src/postgres/treasury/treasury-checks.ts";
import {
  depositOf,
  expectCleanAudit,
  PRICE,
  openLedger,
  inTransaction,
  callOf,
  completed,
  failed,
  paymentOf,
  untilWaiting,
  endRun,
  type Instance,
} from "../fixture.ts";
import { movementOf, movementOfDeposit, unknownAccountId, watchedAccount } from "./treasury-fixture.ts";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";
import type { AttributedMovement } from "../../../src/app/treasury/treasury-ledger.ts";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";

const { database, one, two, three, instances } = await openLedger();
const token = await watchedAccount(one);

describe("a treasury movement", () => {
  it("goes to suspense without an owner or with an unknown account", async () => {
    const before = await one.treasury.suspended();
    expect(await one.treasury.record(token, movementOf({ memos: "hello\0" }))).toBe("suspended");
    expect(await one.treasury.record(token, movementOfDeposit(depositOf(), unknownAccountId()))).toBe(
      "suspended",
    );
    expect(await one.treasury.suspended()).toEqual({
      count: before.count + 2,
      amount: before.amount + 2n * PRICE,
    });
  });

  it("is booked to the operator when it leaves the treasury", async () => {
    const { expected = 0n } = (await one.treasury.watch(token)) ?? {};
    const debt = await expectedTreasuryBalance(database.url);
    const movement = movementOf({ change: -7n });
    expect(await one.treasury.record(token, movement)).toBe("withdrawn");
    expect(await two.treasury.record(token, movement)).toBe("known");
    expect(await one.treasury.watch(token)).toMatchObject({ expected: expected - 7n });
    expect(await expectedTreasuryBalance(database.url)).toBe(debt - 7n);
  });

  it("is booked for each of two treasuries that one transaction debits", async () => {
    const former = await watchedAccount(one, 10n);
    const debt = await expectedTreasuryBalance(database.url);
    const movement = movementOf({ change: -7n });
    expect(await one.treasury.record(former, movement)).toBe("withdrawn");
    expect(await one.treasury.record(token, { ...movement, change: -3n })).toBe("withdrawn");
    expect(await one.treasury.record(former, movement)).toBe("known");
    expect(await one.treasury.watch(former)).toMatchObject({ expected: 3n });
    expect(await expectedTreasuryBalance(database.url)).toBe(debt - 10n);
  });

  it("is not recorded when it changes nothing", async () => {
    const movement = movementOf({ change: 0n });
    expect(await one.treasury.record(token, movement)).toBe("known");
    expect(await one.treasury.unrecorded(token, [movement.txSignature])).toHaveLength(1);
  });

  it("changes nothing when its amount differs from the credit, and is reported again", async () => {
    const account = await one.account();
    const deposit = depositOf();
    await one.ledger.credit(account, deposit);
    const other = { ...movementOfDeposit(deposit, account), change: PRICE + 1n };
    const watch = await one.treasury.watch(token);
    for (const _ of [1, 2]) expect(await one.treasury.record(token, other)).toBe("mismatch");
    expect(await one.balance(account)).toBe(PRICE);
    expect(await one.treasury.watch(token)).toEqual(watch);
    expect(await one.treasury.unrecorded(token, [deposit.reference])).toEqual([
      { txSignature: deposit.reference, credited: PRICE },
    ]);
  });

  it("is rejected for an account without a watch", async () => {
    const account = await one.account();
    const movement = movementOfDeposit(depositOf(), account);
    const nobodys = base58.encode(randomBytes(32));
    await expect(one.treasury.record(nobodys, movement)).rejects.toThrow("has not started");
    expect(await one.balance(account)).toBe(0n);
  });

  it("is booked once when several instances record it", async () => {
    const account = await one.account();
    const movements = [
      ...Array.from({ length: 10 }, () => movementOfDeposit(depositOf(), account)),
      ...Array.from({ length: 10 }, () => movementOf()),
      ...Array.from({ length: 10 }, () => movementOf({ change: -3n })),
    ];
    const before = (await one.treasury.watch(token))?.expected ?? 0n;
    const outcomes = await Promise.all(
      movements.flatMap((movement) => instances.map(({ treasury }) => treasury.record(token, movement))),
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
    expect(await one.balance(account)).toBe(10n * PRICE);
    expect((await one.treasury.watch(token))?.expected).toBe(before + 20n * PRICE - 30n);
  });
});

const newToken = () => base58.encode(randomBytes(32));

/** Expires the leader's lease. */
const expireLead = () => one.pool.query("update leadership set until = now() - interval '1 second'");

describe("treasury leadership", () => {
  it("belongs to one instance at a time until it resigns", async () => {
    for (let round = 0; round < 10; round++) {
      const asked = await Promise.all(
        instances.flatMap(({ treasury }) => [
          treasury.acquireLeadership(60_000),
          treasury.acquireLeadership(60_000),
        ]),
      );
      expect(asked.filter(Boolean)).toHaveLength(2);
      const leader = Math.floor(asked.indexOf(true) / 2);
      expect(asked.lastIndexOf(true)).toBe(leader * 2 + 1);
      await instances[(leader + 1) % 3]!.treasury.releaseLeadership();
      expect(await instances[(leader + 1) % 3]!.treasury.acquireLeadership(60_000)).toBe(false);
      await instances[leader]!.treasury.releaseLeadership();
    }
  });

  it("passes to another instance after the lease expires, and not back to the stalled one", async () => {
    expect(await one.treasury.acquireLeadership(60_000)).toBe(true);
    expect(await two.treasury.acquireLeadership(60_000)).toBe(false);
    await expireLead();
    expect(await two.treasury.acquireLeadership(60_000)).toBe(true);
    expect(await one.treasury.acquireLeadership(60_000)).toBe(false);
    await one.treasury.releaseLeadership();
    expect(await two.treasury.acquireLeadership(60_000)).toBe(true);
    await two.treasury.releaseLeadership();
  });

  it("stays no longer than a lease with a dead leader when the database's clock steps back", async () => {
    const [dead, other] = [one, two];
    await expireLead();
    expect(await dead.treasury.acquireLeadership(60_000)).toBe(true);
    await one.pool.query("update leadership set until = until + interval '10 minutes'");
    expect(await other.treasury.acquireLeadership(60_000)).toBe(false);
    const { rows } = await one.pool.query(
      "select until <= now() + interval '1 minute' as bound from leadership",
    );
    expect(rows).toEqual([{ bound: true }]);
    await dead.treasury.releaseLeadership();
  });

  it("goes to the first that asks after expiry, also the previous leader", async () => {
    expect(await one.treasury.acquireLeadership(1)).toBe(true);
    await expireLead();
    expect(await one.treasury.acquireLeadership(60_000)).toBe(true);
    expect(await two.treasury.acquireLeadership(60_000)).toBe(false);
    await one.treasury.releaseLeadership();
  });
});

describe("a treasury watch", () => {
  it("starts once, and books the opening balance to the operator", async () => {
    const token = newToken();
    const debt = await expectedTreasuryBalance(database.url);
    expect(await one.treasury.watch(token)).toBeUndefined();
    const starts = instances.map(({ treasury }, n) =>
      treasury.startWatch(token, { amount: 50n, slot: BigInt(n) }),
    );
    await expect(Promise.all(starts)).resolves.toBeDefined();
    await expect(one.treasury.startWatch(token, { amount: 60n, slot: 70n })).resolves.toBeUndefined();
    expect(await two.treasury.watch(token)).toMatchObject({ opening: 50n, expected: 50n });
    expect(await expectedTreasuryBalance(database.url)).toBe(debt + 50n);
  });

  it("moves forward only and returns the expected balance", async () => {
    const token = newToken();
    await one.treasury.startWatch(token, { amount: 0n, slot: 5n });
    const started = await one.treasury.watch(token);
    for (const change of [9n, -4n, 2n]) await one.treasury.record(token, movementOf({ change, slot: 6n }));
    await one.treasury.advanceWatch(token, 10n);
    await two.treasury.advanceWatch(token, 7n);
    const looked = (await one.treasury.watch(token))?.checkedAt;
    await one.treasury.advanceWatch(token, 9n, false);
    expect((await one.treasury.watch(token))?.checkedAt).toEqual(looked);
    const watch = await one.treasury.watch(token);
    expect(watch).toMatchObject({ slot: 10n, opening: 0n, expected: 7n });
    expect(watch!.checkedAt.getTime()).toBeGreaterThanOrEqual(started!.checkedAt.getTime());
  });

  it("returns unrecorded transactions in the given order, with their credits", async () => {
    const token = newToken();
    const other = newToken();
    for (const account of [token, other]) await one.treasury.startWatch(account, { amount: 0n, slot: 0n });
    const [recorded, elsewhere, unseen] = [movementOf(), movementOf({ change: -1n }), movementOf()];
    await one.treasury.record(token, recorded);
    await one.treasury.record(other, elsewhere);
    const proved = depositOf({ amount: 77n });
    await one.ledger.credit(await one.account(), proved);
    const asked = [unseen.txSignature, recorded.txSignature, proved.reference, elsewhere.txSignature];
    expect(await two.treasury.unrecorded(token, asked)).toEqual([
      { txSignature: unseen.txSignature, credited: undefined },
      { txSignature: proved.reference, credited: 77n },
      { txSignature: elsewhere.txSignature, credited: undefined },
    ]);
    expect(await two.treasury.unrecorded(token, [])).toEqual([]);
  });

  it("starts at installation: no sealing key is older", async () => {
    expect((await one.treasury.installedAt()).getTime()).toBeGreaterThan(0);
    await one.pool.query(
      `insert into sealing_key (version, secret, active_from, created_at)
        values (1, $1, now(), '2026-02-03T04:05:06Z'), (2, $1, now(), now())`,
      [randomBytes(32)],
    );
    expect(await one.treasury.installedAt()).toEqual(new Date("2026-02-03T04:05:06Z"));
  });

  it("keeps the installation time when sealing keys are replaced", async () => {
    const began = await one.treasury.installedAt();
    await one.treasury.startWatch(newToken(), { amount: 0n, slot: 0n });
    await one.pool.query("delete from sealing_key");
    await one.pool.query("insert into sealing_key (version, secret, active_from) values (3, $1, now())", [
      randomBytes(32),
    ]);
    expect(await one.treasury.installedAt()).toEqual(began);
    await one.treasury.startWatch(newToken(), { amount: 0n, slot: 0n });
    expect(await one.treasury.installedAt()).toEqual(began);
  });
});

/** A call, its payment and the payment's movement. */
function paidCall(account: string): {
  call: CallAuthorization;
  movement: AttributedMovement;
  txSignature: string;
} {
  const deposit = depositOf();
  return {
    call: callOf(account, { payment: paymentOf(deposit) }),
    movement: movementOfDeposit(deposit, account),
    txSignature: deposit.reference,
  };
}

describe("a payment seen by the watch and by its call", () => {
  it("counts once in either order", async () => {
    const account = await one.account();
    const [proved, watched] = [paidCall(account), paidCall(account)];
    expect(await one.ledger.authorize(proved.call)).toEqual({ kind: "started" });
    expect(await two.treasury.record(token, proved.movement)).toBe("finalized");
    expect(await two.treasury.record(token, watched.movement)).toBe("credited");
    expect(await one.ledger.authorize(watched.call)).toEqual({ kind: "started" });
    expect(await one.balance(account)).toBe(0n);
    for (const { call } of [proved, watched])
      expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
  });

  it("counts once and buys its call when both see it at the same time", async () => {
    const account = await one.account();
    for (let round = 0; round < 60; round++) {
      const { call, movement } = paidCall(account);
      const [started, ...recorded] = await Promise.all([
        one.ledger.authorize(call),
        two.treasury.record(token, movement),
        three.treasury.record(token, movement),
      ]);
      expect(started).toEqual({ kind: "started" });
      expect(recorded).toContain("known");
      expect(recorded.some((outcome) => outcome === "credited" || outcome === "finalized")).toBe(true);
      expect(await one.balance(account)).toBe(0n);
    }
  });

  it("is not lost when its movement races its reversal", async () => {
    const account = await one.account();
    for (let round = 1n; round <= 40n; round++) {
      const { call, movement, txSignature } = paidCall(account);
      await one.ledger.credit(account, call.payment!.transfer!);
      const [recorded, reversal] = await Promise.all([
        two.treasury.record(token, movement),
        three.treasury.reverse({ network: SOLANA, reference: txSignature }),
      ]);
      expect(recorded).toBe(reversal ? "reinstated" : "finalized");
      expect(await one.balance(account)).toBe(round * PRICE);
    }
  });

  it("is locked while its movement is booked, so that it cannot be reversed", async () => {
    const account = await one.account();
    const { call, movement, txSignature } = paidCall(account);
    await one.ledger.credit(account, call.payment!.transfer!);
    await inTransaction(one.pool, async (holder) => {
      await holder.query("select from treasury_watch for update");
      const recorded = two.treasury.record(token, movement);
      await untilWaiting(one.pool, two);
      const reversal = three.treasury.reverse({ network: SOLANA, reference: txSignature });
      await untilWaiting(one.pool, three);
      await holder.query("rollback");
      expect(await Promise.all([recorded, reversal])).toEqual(["finalized", undefined]);
    });
  });

  it("counts once among concurrent proofs, credits, ends, movements and reversals on few accounts", async () => {
    const accounts = await Promise.all(Array.from({ length: 3 }, () => one.account()));
    const calls = Array.from({ length: 60 }, (_, n) => paidCall(accounts[n % 3]!));
    let charged = 0;
    const run = async ({ ledger }: Instance, call: CallAuthorization, well: boolean) => {
      if ((await ledger.authorize(call)).kind !== "started") return;
      await endRun(ledger, well ? completed(call) : failed(call));
      if (well) charged++;
    };
    await Promise.all(
      calls.flatMap(({ call, movement, txSignature }, n) => {
        const at = (turn: number) => instances[(n + turn) % 3]!;
        return [
          run(at(0), call, n % 4 !== 0),
          at(1).ledger.credit(call.accountId, call.payment!.transfer!),
          at(1).treasury.record(token, movement),
          at(2).treasury.record(token, movement),
          at(2).treasury.finalize(SOLANA, [txSignature, calls[(n + 7) % 60]!.txSignature]),
          at(0).treasury.reverse({ network: SOLANA, reference: txSignature }),
          at(1).treasury.postpone(SOLANA, [txSignature, calls[(n + 3) % 60]!.txSignature]),
        ];
      }),
    );
    // Record the movement of every reversed payment.
    for (const { movement } of calls) await one.treasury.record(token, movement);
    const balances = await Promise.all(accounts.map((account) => one.balance(account)));
    expect(balances.reduce((sum, balance) => sum + balance, 0n)).toBe(BigInt(60 - charged) * PRICE);
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
