import { NO_LIMITS } from "../../../src/domain/accounts/budget.ts";
import { afterAll, describe, expect, it } from "vitest";
import type { AccountMoves } from "../../../src/app/cells/account-moves.ts";
import { MAX_ENDPOINTS } from "../../../src/app/webhooks/webhook-endpoints.ts";
import { newId, uuidOf } from "../../../src/domain/core/ids.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import {
  callOf,
  chargeOf,
  completed,
  depositOf,
  endRun,
  failed,
  newRunId,
  paymentOf,
  PRICE,
} from "../fixture.ts";
import {
  balanceOf,
  clearingOf,
  customer,
  expectClean,
  move,
  openCell,
  type TestCell,
} from "./cell-fixture.ts";

const [two, three] = await Promise.all([openCell(2), openCell(3)]);
afterAll(() => expectClean(two, three));

const authenticate = async (cell: TestCell, secret: string) =>
  cell.postgres.authenticator.authenticate(secret);
/** Answers once the notification of the move has arrived. */
const accepted = (cell: TestCell, secret: string) =>
  expect.poll(async () => (await authenticate(cell, secret))?.accountId);

async function charge(cell: TestCell, accountId: string, change: Parameters<typeof callOf>[1] = {}) {
  const call = await cell.start(accountId, change);
  return { call, receiptId: await chargeOf(cell.ledger, completed(call)) };
}

const transfersOf = async (cell: TestCell, accountId: string) => {
  const text =
    "select count(*)::integer as n from transfer where kind = 'clearing' and $1 in (debit, credit)";
  return (await cell.pool.query<{ n: number }>(text, [uuidOf("acct", accountId)])).rows[0]?.n;
};

describe("an account that moves", () => {
  it("takes its balance and keys along, and is refused where it was", async () => {
    const { accountId, secret, keyId } = await customer(two, 5n * PRICE, {
      limits: { ...NO_LIMITS, perCall: PRICE },
    });
    const before = { two: await clearingOf(two), three: await clearingOf(three) };
    expect(await move(two, three, accountId)).toEqual({ accountId, amount: 5n * PRICE });
    expect([await balanceOf(two, accountId), await balanceOf(three, accountId)]).toEqual([0n, 5n * PRICE]);
    expect((await clearingOf(two)) - before.two).toBe(5n * PRICE);
    expect((await clearingOf(three)) - before.three).toBe(-5n * PRICE);

    await accepted(three, secret).toBe(accountId);
    const caller = await authenticate(three, secret);
    expect(caller).toMatchObject({ keyId, limits: { perCall: PRICE } });
    await charge(three, accountId);
    await expect(authenticate(two, secret)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(two.warnings).toContainEqual({ name: "account", cell: 3 });
    expect(await two.authorize(accountId)).toEqual({ kind: "frozen" });
    const { items } = await three.postgres.accountQueries.statements.entries({
      accountId,
      limit: 5,
      cursor: undefined,
    });
    expect(items.map(({ kind, note }) => [kind, note])).toEqual([
      ["charge", undefined],
      ["clearing", "from cell 2"],
    ]);
  });

  it("arrives once, whenever the command ends and is repeated", async () => {
    for (let step = 1, crashed = true; crashed; step++) {
      const { accountId, secret } = await customer(two, 3n * PRICE);
      const before = await charge(two, accountId, { idempotencyKey: "before" });
      crashed = await move(two, three, accountId, crashingAfter(step)).then(
        () => false,
        () => true,
      );
      expect(crashed).toBe(step <= STEPS.length);
      await move(two, three, accountId);
      expect([await balanceOf(two, accountId), await balanceOf(three, accountId)]).toEqual([0n, 2n * PRICE]);
      expect([await transfersOf(two, accountId), await transfersOf(three, accountId)]).toEqual([1, 1]);
      await accepted(three, secret).toBe(accountId);
      const repeated = await three.ledger.authorize({ ...callOf(accountId), ...repeatOf(before.call) });
      expect(repeated).toMatchObject({ kind: "replay", receipt: { receiptId: before.receiptId } });
    }
  });

  it("stays and works when the move is cancelled before its balance is booked out", async () => {
    const { accountId, secret } = await customer(two, PRICE);
    await expect(move(two, three, accountId, crashingAfter(FROZEN))).rejects.toThrow("crashed");
    expect(await two.authorize(accountId)).toEqual({ kind: "frozen" });
    expect(await two.moves.freeze(accountId, false)).toBe(true);
    await charge(two, accountId);
    expect((await authenticate(two, secret))?.accountId).toBe(accountId);
    expect(await balanceOf(three, accountId)).toBe(-1n);
  });

  it("cannot be cancelled after that", async () => {
    const { accountId } = await customer(two, PRICE);
    await expect(move(two, three, accountId, crashingAfter(DEPARTED))).rejects.toThrow("crashed");
    expect(await two.moves.freeze(accountId, false)).toBe(false);
    await move(two, three, accountId);
    expect(await two.moves.freeze(accountId, false)).toBe(false);
    expect(await balanceOf(three, accountId)).toBe(PRICE);
  });

  it("is booked once when two commands move it at the same time", async () => {
    const { accountId } = await customer(two, PRICE);
    await Promise.all([1, 2, 3].map(() => move(two, three, accountId)));
    expect(await balanceOf(three, accountId)).toBe(PRICE);
    expect([await transfersOf(two, accountId), await transfersOf(three, accountId)]).toEqual([1, 1]);
  });

  it("takes along answers of calls that end while others are copied, which are copied once", async () => {
    const { accountId } = await customer(two, 9n * PRICE);
    const keyed = (idempotencyKey: string, hoursAgo = 0) => {
      const clock = { now: () => systemClock.now() - hoursAgo * 3_600_000 };
      return callOf(accountId, { idempotencyKey, runId: newId("run", clock, systemRandom) });
    };
    const [old, failing, running] = [keyed("old", 3), keyed("failing", 2), keyed("running", 1)];
    for (const call of [old, running, failing]) await two.ledger.authorize(call);
    await chargeOf(two.ledger, completed(old));
    await endRun(two.ledger, failed(failing));
    const [repeated, late] = [keyed("failing"), keyed("late")];
    const copied: string[] = [];
    const endingMeanwhile = (moves: AccountMoves): AccountMoves =>
      observed(moves, async (name, [, answers]) => {
        if (name === "addAnswers") copied.push(String(answers));
        if (name !== "addAnswers" || copied.length > 1) return;
        for (const call of [repeated, late]) await two.ledger.authorize(call);
        for (const call of [running, repeated, late]) await chargeOf(two.ledger, completed(call));
      });
    expect(await move(two, three, accountId, endingMeanwhile)).toEqual({ accountId, amount: 5n * PRICE });
    for (const call of [old, running, repeated, late])
      expect(await three.ledger.authorize({ ...call, runId: newRunId() })).toMatchObject({ kind: "replay" });
    const keysOf = (answers: string) =>
      Array.from(answers.matchAll(/"key" : "key:(\w+)"/g), ([, key]) => key);
    expect(copied.map(keysOf)).toEqual([
      ["failing", "old"],
      ["failing", "late", "running"],
    ]);
  });

  it("replaces what has expired where it comes back to", async () => {
    const { accountId } = await customer(two, 9n * PRICE);
    const { call } = await charge(two, accountId, { idempotencyKey: "again" });
    await move(two, three, accountId);
    const expired = "update idempotency set expires_at = now() where account_id = $1";
    await two.pool.query(expired, [uuidOf("acct", accountId)]);
    await three.pool.query("delete from idempotency where account_id = $1", [uuidOf("acct", accountId)]);
    const { receiptId } = await charge(three, accountId, { ...repeatOf(call) });
    await move(three, two, accountId);
    const repeated = await two.ledger.authorize({ ...callOf(accountId), ...repeatOf(call) });
    expect(repeated).toMatchObject({ kind: "replay", receipt: { receiptId } });
  });

  it("waits for its running calls, starts none, and takes what they leave", async () => {
    const { accountId } = await customer(two, 3n * PRICE);
    const running = await two.start(accountId);
    await expect(move(two, three, accountId, undefined, () => false)).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    const others = [
      callOf(accountId),
      callOf(accountId, { idempotencyKey: "new" }),
      callOf(accountId, { price: 0n, idempotencyKey: "free" }),
      callOf(accountId, { payment: paymentOf(depositOf()) }),
      callOf(accountId, { payment: paymentOf(depositOf({ amount: 1n })) }),
    ];
    for (const call of others)
      expect(await two.ledger.authorize(call).catch(String)).toEqual({ kind: "frozen" });
    const { network, reference, quoteId } = depositOf();
    const query = { accountId, fingerprint: running.fingerprint, idempotencyKey: undefined };
    expect(await two.ledger.findPrior({ ...query, network, reference, quoteId })).toEqual({ kind: "frozen" });
    const moving = move(two, three, accountId);
    await chargeOf(two.ledger, completed(running));
    expect(await moving).toEqual({ accountId, amount: 2n * PRICE });
  });

  it("offers no quote while it is frozen, although it lacks funds", async () => {
    const { accountId } = await customer(two, 0n);
    expect((await two.authorize(accountId)).kind).toBe("insufficient");
    await move(two, three, accountId);
    expect(await two.authorize(accountId)).toEqual({ kind: "frozen" });
  });

  it("is followed by money that reaches it later, also by a debt", async () => {
    const { accountId } = await customer(two, 2n * PRICE);
    const vanishing = depositOf({ amount: 5n * PRICE });
    await two.ledger.credit(accountId, vanishing);
    const { receiptId } = await charge(two, accountId);
    await move(two, three, accountId);
    expect(await move(two, three, accountId)).toBeUndefined();
    await two.refunds.refund({ receiptId, reason: "wrong" });
    await two.ledger.credit(accountId, depositOf());
    expect(await two.moves.unfinished()).toEqual([{ accountId, to: 3 }]);
    expect(await move(two, three, accountId)).toEqual({ accountId, amount: 2n * PRICE });
    await two.postgres.treasuryLedger.reverse(vanishing);
    expect(await move(two, three, accountId)).toEqual({ accountId, amount: -5n * PRICE });
    expect(await balanceOf(three, accountId)).toBe(3n * PRICE);
    expect(await two.moves.unfinished()).toEqual([]);
  });

  it("comes back with its keys, and their limits count in both cells", async () => {
    const limits = { ...NO_LIMITS, perDay: 3n * PRICE };
    const { accountId, secret, keyId } = await customer(two, 9n * PRICE, { limits });
    const spending = { keyId, budgeted: true };
    await charge(two, accountId, spending);
    await move(two, three, accountId);
    await charge(three, accountId, spending);
    await move(three, two, accountId);
    expect(await move(two, three, accountId)).toMatchObject({ amount: 7n * PRICE });
    expect(await move(three, two, accountId)).toMatchObject({ amount: 7n * PRICE });
    await charge(two, accountId, spending);
    expect(await two.authorize(accountId, spending)).toMatchObject({ kind: "capped" });
    expect((await authenticate(two, secret))?.accountId).toBe(accountId);
    await expect(authenticate(three, secret)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("joins the account that its wallet has in the other cell", async () => {
    const { accountId, secret } = await customer(two, 2n * PRICE);
    const wallet = (await two.postgres.accounts.get(accountId)).wallet;
    const { accountId: there } = await three.postgres.walletAccounts.open(wallet);
    expect(await move(two, three, accountId)).toEqual({ accountId: there, amount: 2n * PRICE });
    await accepted(three, secret).toBe(there);
    await charge(three, there);
  });

  it("takes its webhook endpoints along, as they are when it comes back", async () => {
    const { accountId: owner } = await customer(two, PRICE);
    const [here, there] = [two.postgres.webhooks, three.postgres.webhooks];
    const { endpoint, secret: old } = await here.endpoints.create({
      ...{ owner, url: "https://hooks.example/1", types: ["balance.low"] },
    });
    const rotated = await here.endpoints.rotateSecret(owner, endpoint.endpointId, 60_000);
    await here.endpoints.sendTest(owner, endpoint.endpointId);
    await here.endpoints.update(owner, endpoint.endpointId, { enabled: false });
    await move(two, three, owner);
    const same = { ...rotated?.endpoint, enabled: false, pending: 0 };
    expect(await there.endpoints.list(owner)).toMatchObject([same]);
    await there.endpoints.update(owner, endpoint.endpointId, { enabled: true });
    await there.endpoints.sendTest(owner, endpoint.endpointId);
    const claimed = await there.queue.claim({ most: 10, mostSlow: 10, mostPerAccount: 10, taken: [] });
    expect(claimed.find(({ endpointId }) => endpointId === endpoint.endpointId)?.secrets).toEqual([
      rotated?.secret,
      old,
    ]);
    // What was sent to it where it was is sent from there.
    expect(await here.endpoints.list(owner)).toMatchObject([{ ...same, pending: 1 }]);

    await there.endpoints.delete(owner, endpoint.endpointId);
    const kept = await there.endpoints.create({
      ...{ owner, url: "https://hooks.example/2", types: ["balance.low"] },
    });
    await move(three, two, owner);
    expect(await here.endpoints.list(owner)).toMatchObject([{ endpointId: kept.endpoint.endpointId }]);
    const left = "select from webhook_delivery where endpoint_id = $1";
    expect((await two.pool.query(left, [uuidOf("we", endpoint.endpointId)])).rowCount).toBe(0);
  });

  it("stays when it would have too many webhook endpoints in the other cell", async () => {
    const { accountId } = await customer(two, 2n * PRICE);
    const { wallet } = await two.postgres.accounts.get(accountId);
    const { accountId: there } = await three.postgres.walletAccounts.open(wallet);
    const add = (cell: TestCell, owner: string) =>
      cell.postgres.webhooks.endpoints.create({
        ...{ owner, url: "https://hooks.example/", types: ["balance.low"] },
      });
    for (let n = 0; n < MAX_ENDPOINTS; n++) await add(three, there);
    const { endpoint } = await add(two, accountId);
    await expect(move(two, three, accountId)).rejects.toThrow("more than 10 webhook endpoints");
    await charge(two, accountId);
    await two.postgres.webhooks.endpoints.delete(accountId, endpoint.endpointId);
    expect(await move(two, three, accountId)).toEqual({ accountId: there, amount: PRICE });
    expect(await three.postgres.webhooks.endpoints.list(there)).toHaveLength(MAX_ENDPOINTS);
  });

  it("keeps a revoked key revoked, and cannot change its keys where it was", async () => {
    const { accountId, secret, keyId } = await customer(two, PRICE);
    await move(two, three, accountId);
    await accepted(three, secret).toBe(accountId);
    await three.postgres.apiKeys.revoke(keyId);
    await accepted(three, secret).toBeUndefined();
    await expect(two.postgres.apiKeys.revoke(keyId)).rejects.toThrow("has moved to another cell");
    await move(three, two, accountId);
    expect(await authenticate(two, secret)).toBeUndefined();
  });

  it("does not leave for a cell that cannot take it, or for a second one", async () => {
    const { accountId } = await customer(two, PRICE);
    await two.pool.query(
      "insert into rate_tier (name, rate_per_minute, burst) values ('gold', 60, 10) on conflict do nothing",
    );
    await two.pool.query("update account set tier = 'gold' where id = $1", [uuidOf("acct", accountId)]);
    await expect(move(two, three, accountId)).rejects.toThrow("its tier is not in the configuration");
    await charge(two, accountId);
    await two.pool.query("update account set tier = 'default' where id = $1", [uuidOf("acct", accountId)]);
    await expect(move(two, three, accountId, crashingAfter(DEPARTED))).rejects.toThrow("crashed");
    const four = { ...three, moves: Object.assign(Object.create(three.moves), { cell: 4 }) };
    await expect(move(two, four, accountId)).rejects.toThrow("has left cell 2 for cell 3");
    await move(two, three, accountId);
  });
});

/** Operations of a move. */
const STEPS = [
  ...["find", "rehearse", "firstOpenRun", "answers", "addAnswers", "freeze"],
  ...["depart", "answers", "addAnswers", "arrive", "noteArrival", "depart"],
];

const [FROZEN, DEPARTED] = [STEPS.indexOf("freeze") + 1, STEPS.indexOf("depart") + 1];

/** The command ends after that operation of a move. */
function crashingAfter(step: number) {
  let left = step;
  return (moves: AccountMoves): AccountMoves =>
    observed(moves, async () => {
      if (--left === 0) throw new Error("crashed");
    });
}

/** @param after is called after each operation, with its name and arguments */
function observed(
  moves: AccountMoves,
  after: (name: string | symbol, given: readonly unknown[]) => Promise<void>,
): AccountMoves {
  return new Proxy(moves, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return async (...given: unknown[]) => {
        const result: unknown = await Reflect.apply(member, target, given);
        await after(name, given);
        return result;
      };
    },
  });
}

function repeatOf({ fingerprint, idempotencyKey }: ReturnType<typeof callOf>) {
  return { fingerprint, idempotencyKey };
}
