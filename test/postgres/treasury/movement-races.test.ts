import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AttributedMovement } from "../../../src/app/treasury/treasury-ledger.ts";
import type { CallAuthorization } from "../../../src/app/calls/ledger.ts";
import { createTestDatabase, type TestDatabase } from "../../support/postgres.ts";
import {
  callOf,
  completed,
  depositOf,
  expectCleanAudit,
  failed,
  makeAccount,
  paymentOf,
  PRICE,
  untilWaiting,
  endRun,
} from "../fixture.ts";
import { movementOfDeposit, openTreasurer, watchedAccount, type Treasurer } from "./treasury-fixture.ts";
import { NETWORK } from "../../../src/domain/payments/body-proof.ts";

let database: TestDatabase;
let treasurers: Treasurer[];
let one: Treasurer;
let two: Treasurer;
let three: Treasurer;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  treasurers = Array.from({ length: 3 }, () => openTreasurer(database.url));
  [one, two, three] = [treasurers[0]!, treasurers[1]!, treasurers[2]!];
  token = await watchedAccount(one);
});
afterAll(async () => {
  await Promise.all(treasurers.map((treasurer) => treasurer.close()));
  await database.drop();
});
afterEach(() => expectCleanAudit(one.pool));

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
    const account = await makeAccount(one.pool, 0n);
    const [proved, watched] = [paidCall(account), paidCall(account)];
    expect(await one.ledger.authorize(proved.call)).toEqual({ kind: "started" });
    expect(await two.books.record(token, proved.movement)).toBe("finalized");
    expect(await two.books.record(token, watched.movement)).toBe("credited");
    expect(await one.ledger.authorize(watched.call)).toEqual({ kind: "started" });
    expect(await one.ledger.balance(account)).toBe(0n);
    for (const { call } of [proved, watched])
      expect(await one.ledger.capture(completed(call))).toMatchObject({ kind: "captured" });
  });

  it("counts once and buys its call when both see it at the same time", async () => {
    const account = await makeAccount(one.pool, 0n);
    for (let round = 0; round < 60; round++) {
      const { call, movement } = paidCall(account);
      const [started, ...recorded] = await Promise.all([
        one.ledger.authorize(call),
        two.books.record(token, movement),
        three.books.record(token, movement),
      ]);
      expect(started).toEqual({ kind: "started" });
      expect(recorded).toContain("known");
      expect(recorded.some((outcome) => outcome === "credited" || outcome === "finalized")).toBe(true);
      expect(await one.ledger.balance(account)).toBe(0n);
    }
  });

  it("is not lost when its movement races its reversal", async () => {
    const account = await makeAccount(one.pool, 0n);
    for (let round = 1n; round <= 40n; round++) {
      const { call, movement, txSignature } = paidCall(account);
      await one.ledger.credit(account, call.payment!.transfer!);
      const [recorded, reversal] = await Promise.all([
        two.books.record(token, movement),
        three.books.reverse({ network: NETWORK, reference: txSignature }),
      ]);
      expect(recorded).toBe(reversal ? "reinstated" : "finalized");
      expect(await one.ledger.balance(account)).toBe(round * PRICE);
    }
  });

  it("is locked while its movement is booked, so that it cannot be reversed", async () => {
    const account = await makeAccount(one.pool, 0n);
    const { call, movement, txSignature } = paidCall(account);
    await one.ledger.credit(account, call.payment!.transfer!);
    const holder = await one.pool.connect();
    try {
      await holder.query("begin");
      await holder.query("select from treasury_watch for update");
      const recorded = two.books.record(token, movement);
      await untilWaiting(one.pool, two);
      const reversal = three.books.reverse({ network: NETWORK, reference: txSignature });
      await untilWaiting(one.pool, three);
      await holder.query("rollback");
      expect(await Promise.all([recorded, reversal])).toEqual(["finalized", undefined]);
    } finally {
      // Locks end with the connection, which a timeout may have closed already.
      holder.release(true);
    }
  });

  it("counts once among concurrent proofs, credits, ends, movements and reversals on few accounts", async () => {
    const accounts = await Promise.all(Array.from({ length: 3 }, () => makeAccount(one.pool, 0n)));
    const calls = Array.from({ length: 60 }, (_, n) => paidCall(accounts[n % 3]!));
    let charged = 0;
    const run = async ({ ledger }: Treasurer, call: CallAuthorization, well: boolean) => {
      if ((await ledger.authorize(call)).kind !== "started") return;
      await endRun(ledger, well ? completed(call) : failed(call));
      if (well) charged++;
    };
    await Promise.all(
      calls.flatMap(({ call, movement, txSignature }, n) => {
        const at = (turn: number) => treasurers[(n + turn) % 3]!;
        return [
          run(at(0), call, n % 4 !== 0),
          at(1).ledger.credit(call.accountId, call.payment!.transfer!),
          at(1).books.record(token, movement),
          at(2).books.record(token, movement),
          at(2).books.finalize(NETWORK, [txSignature, calls[(n + 7) % 60]!.txSignature]),
          at(0).books.reverse({ network: NETWORK, reference: txSignature }),
          at(1).books.postpone(NETWORK, [txSignature, calls[(n + 3) % 60]!.txSignature]),
        ];
      }),
    );
    // Record the movement of every reversed payment.
    for (const { movement } of calls) await one.books.record(token, movement);
    const balances = await Promise.all(accounts.map((account) => one.ledger.balance(account)));
    expect(balances.reduce((sum, balance) => sum + balance, 0n)).toBe(BigInt(60 - charged) * PRICE);
  });
});
