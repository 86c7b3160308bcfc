import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent, World } from "../support/world.ts";
import {
  callWith,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  offerFor,
  PARAMS,
  PRICE,
  startScene,
  TOOL,
  type Offer,
} from "./scene.ts";
import { NETWORK } from "../../src/domain/payments/body-proof.ts";

/** The treasury job may see a payment before its payer presents it. */
let world: World;
let agent: Agent;
let offer: Offer;
let tx: string;
beforeAll(async () => {
  world = await startScene();
});
beforeEach(async () => {
  agent = await world.agent();
  offer = await offerFor(world, agent);
  tx = await world.pay(agent, PRICE, offer.memo);
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

/** Credits the payment as a watcher would. */
function creditFirst(): Promise<{ credited: boolean }> {
  const { accountId, wallet } = agent;
  return world.postgres.ledger.credit(accountId, {
    network: NETWORK,
    reference: tx,
    amount: PRICE,
    quoteId: offer.quoteId,
    payer: wallet.publicKey.toBase58(),
    slot: BigInt(world.chain.chain.slots.current),
    blockTime: new Date(),
    finalized: true,
    paidBy: "transfer",
  });
}

describe("a payment credited before its proof arrives", () => {
  it("lets a credited payment buy its call, credited and charged once", async () => {
    await creditFirst();
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
    for (const _ of [1, 2]) expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    expect(await creditFirst()).toMatchObject({ credited: false });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("charges once when the watch and many callers present a payment concurrently", async () => {
    const calls = Array.from({ length: 12 }, (_, n) =>
      callWith(world, agent, tx, offer.quoteId, n % 2 === 0 ? {} : { idempotency_key: `k${n}` }),
    );
    const [answers] = await Promise.all([Promise.all(calls), creditFirst(), creditFirst()]);
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    for (const { status } of answers) expect([200, 409]).toContain(status);
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("refuses the proof of a credited payment once the balance is spent, until there is money again", async () => {
    await creditFirst();
    expect((await world.call(agent, TOOL, PARAMS)).body.receipt.paid_by).toBe("balance");
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    for (const _ of [1, 2])
      expectRefused(
        await callWith(world, agent, tx, offer.quoteId),
        /was credited to your balance, but other calls .* have used it: the balance is \$0\.00 and this call costs \$0\.001\. Repeat the call without a proof/,
      );
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    const next = await offerFor(world, agent);
    const second = await world.pay(agent, PRICE, next.memo);
    expectBought(await callWith(world, agent, second, next.quoteId), second, next.quoteId);
    await world.postgres.accounts.adjust({
      accountId: agent.accountId,
      amount: PRICE,
      reason: "test",
      idempotencyKey: agent.accountId,
    });
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 3 });
  });

  it("refuses another account's credited payment", async () => {
    await creditFirst();
    const thief = await world.agent();
    const own = await offerFor(world, thief);
    for (const quoteId of [own.quoteId, offer.quoteId]) {
      expectRefused(await callWith(world, thief, tx, quoteId), /used|another quote|another account/);
    }
    await expectNothing(world, thief);
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
  });

  it("keeps a credited payment on the balance when another transaction paid its quote", async () => {
    await creditFirst();
    const second = await world.pay(agent, PRICE, `${offer.stepId}:${offer.quoteId}:2`);
    expectBought(await callWith(world, agent, second, offer.quoteId), second, offer.quoteId);
    for (const _ of [1, 2])
      expectRefused(await callWith(world, agent, tx, offer.quoteId), /paid before by another transaction/);
    await expectAccount(world, agent, { balance: PRICE, receipts: 1 });
  });
});
