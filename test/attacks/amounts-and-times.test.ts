import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Agent, World } from "../support/world.ts";
import {
  callWith,
  expectAccount,
  expectBought,
  expectRefused,
  offerFor,
  PARAMS,
  pastOffer,
  PRICE,
  startScene,
  TOOL,
} from "./scene.ts";

let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await startScene();
  agent = await world.agent();
});
afterEach(async () => {
  world.chain.chain.setTimeOffset(0);
  expect(await world.violations()).toEqual([]);
  agent = await world.agent();
});
afterAll(() => world.close());

describe("an underpayment", () => {
  it("credits an underpayment once and names both amounts, however often it is presented", async () => {
    const offer = await offerFor(world, agent);
    const tx = await world.pay(agent, PRICE - 1n, offer.memo);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /\$0\.000999 was sent, the price is \$0\.001; \$0\.000999 was credited to your balance/,
    );
    for (const extra of [{}, { idempotency_key: "again" }]) {
      expectRefused(
        await callWith(world, agent, tx, offer.quoteId, extra),
        /was sent, the price is .* credited to your balance before/,
      );
    }
    await expectAccount(world, agent, { balance: PRICE - 1n, receipts: 0 });
  });

  it("pays the call from the balance after a second transfer covers an underpayment", async () => {
    const offer = await offerFor(world, agent);
    for (const part of [400n, 600n]) {
      const tx = await world.pay(agent, part, offer.memo);
      expectRefused(await callWith(world, agent, tx, offer.quoteId), /was sent, the price is/);
    }
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
    const bought = await world.call(agent, TOOL, PARAMS);
    expect(bought.body.receipt).toMatchObject({ paid_by: "balance", debited_usdc_microusd: 1000 });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("credits an underpayment once when many callers present it concurrently", async () => {
    const offer = await offerFor(world, agent);
    const tx = await world.pay(agent, 1n, offer.memo);
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => callWith(world, agent, tx, offer.quoteId)),
    );
    for (const answer of answers) expectRefused(answer, /\$0\.000001 was sent/);
    await expectAccount(world, agent, { balance: 1n, receipts: 0 });
  });
});

describe("an overpayment", () => {
  it("charges the price of an overpaid call and keeps the rest on the balance", async () => {
    const offer = await offerFor(world, agent);
    const tx = await world.pay(agent, 2n * PRICE + 1n, offer.memo);
    for (const _ of [1, 2]) expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, agent, { balance: PRICE + 1n, receipts: 1 });
  });
});

describe("a second payment of the same quote", () => {
  it("credits a second payment of a quote once, and pays the next call with it", async () => {
    const offer = await offerFor(world, agent);
    const [first, second] = [
      await world.pay(agent, PRICE, offer.memo),
      await world.pay(agent, PRICE, `${offer.stepId}:${offer.quoteId}:2`),
    ];
    expectBought(await callWith(world, agent, first, offer.quoteId), first, offer.quoteId);
    expectRefused(
      await callWith(world, agent, second, offer.quoteId),
      /the quote was paid before by another transaction; this one was credited to your balance/,
    );
    expectRefused(await callWith(world, agent, second, offer.quoteId), /paid before by another transaction/);
    await expectAccount(world, agent, { balance: PRICE, receipts: 1 });
    expect((await world.call(agent, TOOL, PARAMS)).body.receipt).toMatchObject({ paid_by: "balance" });
    await expectAccount(world, agent, { balance: 0n, receipts: 2 });
  });

  it("lets one of two concurrent payments buy the call and credits the other", async () => {
    const offer = await offerFor(world, agent);
    const txs = await Promise.all(
      Array.from({ length: 6 }, (_, n) => world.pay(agent, PRICE, `${offer.stepId}:${offer.quoteId}:${n}`)),
    );
    const answers = await Promise.all(txs.map((tx) => callWith(world, agent, tx, offer.quoteId)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectRefused(answer, /paid before by another transaction/);
    await expectAccount(world, agent, { balance: 5n * PRICE, receipts: 1 });
  });

  it("treats a second payment under the first one's key as a repeat, and credits it once", async () => {
    const offer = await offerFor(world, agent);
    const [first, second] = [
      await world.pay(agent, PRICE, offer.memo),
      await world.pay(agent, PRICE, `${offer.stepId}:${offer.quoteId}:2`),
    ];
    const bought = await callWith(world, agent, first, offer.quoteId, { idempotency_key: "k" });
    for (const _ of [1, 2]) {
      const repeat = await callWith(world, agent, second, offer.quoteId, { idempotency_key: "k" });
      expect(repeat.body).toEqual(bought.body);
      await expectAccount(world, agent, { balance: PRICE, receipts: 1 });
    }
    expectRefused(
      await callWith(world, agent, second, offer.quoteId),
      /this one was credited to your balance/,
    );
    await expectAccount(world, agent, { balance: PRICE, receipts: 1 });
  });
});

describe("a payment under the key of a charged call", () => {
  async function boughtUnder(key: string) {
    const offer = await offerFor(world, agent);
    const tx = await world.pay(agent, PRICE, offer.memo);
    return callWith(world, agent, tx, offer.quoteId, { idempotency_key: key });
  }

  it("credits a payment under the key of a charged call, also for another quote or amount", async () => {
    const bought = await boughtUnder("k");
    const offers = [await offerFor(world, agent), await offerFor(world, agent), await offerFor(world, agent)];
    let balance = 0n;
    for (const [index, offer] of offers.entries()) {
      const amount = [PRICE, 1n, 3n * PRICE][index]!;
      const tx = await world.pay(agent, amount, offer.memo);
      const repeat = await callWith(world, agent, tx, offer.quoteId, { idempotency_key: "k" });
      expect({ status: repeat.status, body: repeat.body }).toEqual({ status: 200, body: bought.body });
      balance += amount;
      await expectAccount(world, agent, { balance, receipts: 1 });
    }
  });

  it("ignores an unknown or foreign payment under the key of a charged call", async () => {
    const bought = await boughtUnder("k");
    const stranger = await world.agent();
    const [mine, theirs] = [await offerFor(world, agent), await offerFor(world, stranger)];
    const stolen = await world.pay(stranger, PRICE, theirs.memo);
    for (const [tx, quoteId] of [
      [stolen, mine.quoteId],
      [stolen, theirs.quoteId],
      [base58.encode(randomBytes(64)), mine.quoteId],
    ] as const) {
      const repeat = await callWith(world, agent, tx, quoteId, { idempotency_key: "k" });
      expect({ status: repeat.status, body: repeat.body }).toEqual({ status: 200, body: bought.body });
    }
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    expectBought(await callWith(world, stranger, stolen, theirs.quoteId), stolen, theirs.quoteId);
  });
});

describe("a late payment", () => {
  it("returns QUOTE_EXPIRED for a late payment without a chain query; the watch credits it once", async () => {
    const quick = await startScene({ WATCH_INTERVAL_MS: "100" });
    try {
      const buyer = await quick.agent();
      const offer = pastOffer(quick.postgres.sealingKeys, buyer, 301);
      const tx = await quick.pay(buyer, PRICE, offer.memo);
      const unknown = base58.encode(randomBytes(64));
      quick.chain.faults.resetCallCounts();
      for (const proof of [tx, unknown, unknown])
        expectRefused(
          await callWith(quick, buyer, proof, offer.quoteId),
          /the quote has expired; a payment made for it is credited to your balance once it is finalized/,
          "QUOTE_EXPIRED",
        );
      const asked = ["getTransaction", "getSignatureStatuses"].map((method) =>
        quick.chain.faults.callCount(method),
      );
      expect(asked).toEqual([0, 0]);
      quick.chain.chain.advance(40);
      await expect.poll(() => quick.postgres.ledger.balance(buyer.accountId)).toBe(PRICE);
      expectRefused(
        await callWith(quick, buyer, tx, offer.quoteId),
        /the quote has expired/,
        "QUOTE_EXPIRED",
      );
      expect((await quick.call(buyer, TOOL, PARAMS)).status).toBe(200);
      await expectAccount(quick, buyer, { balance: 0n, receipts: 1 });
      expect(await quick.violations()).toEqual([]);
    } finally {
      await quick.close();
    }
  });

  it("returns QUOTE_EXPIRED for a payment that is late by the chain's clock", async () => {
    const offer = await offerFor(world, agent);
    world.chain.chain.setTimeOffset(300 + 120);
    const tx = await world.pay(agent, PRICE, offer.memo);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /the quote has expired.*credited/,
      "QUOTE_EXPIRED",
    );
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
  });

  it("expires a quote after the configured 10 s", async () => {
    const hasty = await startScene({ QUOTE_TTL_SECONDS: "10" });
    try {
      const buyer = await hasty.agent();
      const [used, unused] = [await offerFor(hasty, buyer), await offerFor(hasty, buyer)];
      const [tx, late] = [
        await hasty.pay(buyer, PRICE, used.memo),
        await hasty.pay(buyer, PRICE, unused.memo),
      ];
      const bought = await callWith(hasty, buyer, tx, used.quoteId);
      expectBought(bought, tx, used.quoteId);
      const expired = pastOffer(hasty.postgres.sealingKeys, buyer, 290);
      const early = await hasty.pay(buyer, PRICE, expired.memo);
      // The quote's own time counts, not the instance's current settings.
      expectBought(await callWith(hasty, buyer, early, expired.quoteId), early, expired.quoteId);
      await new Promise((resolve) => setTimeout(resolve, 10_100));
      expectRefused(await callWith(hasty, buyer, late, unused.quoteId), /expired.*credited/, "QUOTE_EXPIRED");
      expect((await callWith(hasty, buyer, tx, used.quoteId)).body, "a replay comes before expiry").toEqual(
        bought.body,
      );
      await expectAccount(hasty, buyer, { balance: 0n, receipts: 2 });
      expect(await hasty.violations()).toEqual([]);
    } finally {
      await hasty.close();
    }
  });

  it("accepts a payment in the last seconds of its quote", async () => {
    const offer = pastOffer(world.postgres.sealingKeys, agent, 280);
    const tx = await world.pay(agent, PRICE, offer.memo);
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("a payment older than its quote", () => {
  it("credits and refuses a payment that is older than its quote", async () => {
    const offer = await offerFor(world, agent);
    world.chain.chain.setTimeOffset(-120);
    const tx = await world.pay(agent, PRICE, offer.memo);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /the transaction is older than the quote; \$0\.001 was credited/,
    );
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
  });

  it("accepts a payment whose block time precedes the quote within the clock tolerance", async () => {
    const offer = await offerFor(world, agent);
    world.chain.chain.setTimeOffset(-45);
    const tx = await world.pay(agent, PRICE, offer.memo);
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});
