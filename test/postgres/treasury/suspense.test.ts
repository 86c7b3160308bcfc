import { describe, expect, it } from "vitest";
import {
  callOf,
  depositOf,
  expectCleanAudit,
  fingerprintOf,
  paymentOf,
  PRICE,
  openLedger,
} from "../fixture.ts";
import { movementOf, unknownAccountId, watchedAccount } from "./treasury-fixture.ts";

const { one, two, instances } = await openLedger();
const token = await watchedAccount(one);

/** A transfer in suspense. */
async function suspend(change: Parameters<typeof movementOf>[0] = {}): Promise<string> {
  const movement = movementOf(change);
  expect(await one.treasury.record(token, movement)).toBe("suspended");
  return movement.txSignature;
}

describe("a transfer in suspense", () => {
  it("is assigned to an account once: a repeat changes nothing, another owner is rejected", async () => {
    const account = await one.account();
    const other = await one.account();
    const txSignature = await suspend();
    const { count } = await one.treasury.suspended();
    const given = { txSignature, to: { accountId: account }, reason: "reported by email" };
    const expected = {
      txSignature,
      status: "assigned",
      assignedTo: { accountId: account },
      reason: "reported by email",
    };
    expect(await one.suspense.assign(given)).toMatchObject(expected);
    await expect(two.suspense.assign({ ...given, reason: "again" })).resolves.toMatchObject(expected);
    for (const to of [{ accountId: other }, "operator" as const]) {
      await expect(two.suspense.assign({ ...given, to })).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    }
    expect(await one.balance(account)).toBe(PRICE);
    expect(await one.balance(other)).toBe(0n);
    expect((await one.treasury.suspended()).count).toBe(count - 1);
  });

  it("is not assigned to an unknown account, nor an unknown transfer to anyone", async () => {
    const account = await one.account();
    const txSignature = await suspend();
    const known = depositOf();
    await one.ledger.credit(account, known);
    const bad = [
      { txSignature, to: { accountId: unknownAccountId() } },
      { txSignature, to: { accountId: "acct_nonsense" } },
      { txSignature, to: { accountId: `acct_${"0".repeat(31)}5` } },
      { txSignature: "nonsense", to: "operator" as const },
      { txSignature: depositOf().reference, to: "operator" as const },
      { txSignature: known.reference, to: "operator" as const },
    ];
    for (const assignment of bad) {
      await expect(one.suspense.assign({ ...assignment, reason: "r" })).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
    }
  });

  it("of 12 assigned to two owners by three instances at once goes to one of them each", async () => {
    const owners = await Promise.all([one.account(), one.account()]);
    const lying = await Promise.all(Array.from({ length: 12 }, () => suspend()));
    const assigned = await Promise.allSettled(
      lying.flatMap((txSignature) =>
        instances.map(({ suspense }, n) =>
          suspense.assign({ txSignature, to: { accountId: owners[n % 2]! }, reason: "r" }),
        ),
      ),
    );
    for (const outcome of assigned)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "INVALID_REQUEST" });
    const balances = await Promise.all(owners.map((owner) => one.balance(owner)));
    expect(balances[0]! + balances[1]!).toBe(12n * PRICE);
  });

  it("buys no call by its proof, before or after its assignment", async () => {
    const account = await one.account();
    const txSignature = await suspend();
    const proof = depositOf({ reference: txSignature });
    const call = callOf(account, { payment: paymentOf(proof) });
    const query = { ...proof, accountId: account, fingerprint: call.fingerprint };
    for (const round of ["open", "assigned"]) {
      if (round === "assigned")
        await one.suspense.assign({ txSignature, to: { accountId: account }, reason: "after all" });
      const before = await one.balance(account);
      for (const idempotencyKey of [undefined, "k"]) {
        expect(await two.ledger.findPrior({ ...query, idempotencyKey }), round).toEqual({
          kind: "unassigned",
        });
        for (const payment of [call.payment, { ...paymentOf(proof), transfer: undefined }])
          expect(await two.authorize(account, { idempotencyKey, payment }), round).toEqual({
            kind: "unassigned",
          });
      }
      expect(await two.ledger.credit(account, proof)).toMatchObject({ credited: false, balance: before });
    }
    expect(await one.authorize(account)).toEqual({ kind: "started" });
  });

  it("is checked after the claim of the call's key", async () => {
    const account = await one.account(5n * PRICE);
    await one.authorize(account, { idempotencyKey: "k" });
    const payment = paymentOf(depositOf({ reference: await suspend() }));
    const mine = callOf(account, { idempotencyKey: "k", payment });
    expect(await two.ledger.authorize(mine)).toEqual({ kind: "in_progress" });
    expect(await two.ledger.authorize({ ...mine, fingerprint: fingerprintOf("other") })).toEqual({
      kind: "mismatch",
    });
  });
});

describe("the suspense list", () => {
  it("pages newest first by status, each transfer once", async () => {
    const made: string[] = [];
    for (let n = 0; n < 8; n++) made.push(await suspend());
    for (const txSignature of made.slice(0, 4)) {
      await one.suspense.assign({ txSignature, to: "operator", reason: "r" });
    }
    const all = async (status: "open" | "assigned" | undefined) => {
      const seen: string[] = [];
      for (let cursor: string | undefined; ;) {
        const { items, nextCursor } = await two.suspense.list({ limit: 3, cursor, status });
        seen.push(...items.map(({ txSignature }) => txSignature));
        if (nextCursor === undefined) return seen;
        cursor = nextCursor;
      }
    };
    const newest = made.toReversed();
    expect((await all(undefined)).slice(0, 8)).toEqual(newest);
    expect((await all("open")).slice(0, 4)).toEqual(newest.slice(0, 4));
    expect((await all("assigned")).slice(0, 4)).toEqual(newest.slice(4));
    const { count } = await one.treasury.suspended();
    expect(await all("open")).toHaveLength(count);
  });

  it("takes no cursor of another list", async () => {
    for (const cursor of ["runs", "suspense"].map((list) => `${list}:${"0".repeat(32)}`)) {
      const page = { limit: 1, status: undefined, cursor: Buffer.from(cursor).toString("base64url") };
      await expect(one.suspense.list(page), cursor).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    }
  });
});

it("leaves a ledger that passes the audit", () => expectCleanAudit(one.pool));
