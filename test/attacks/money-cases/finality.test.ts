import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent, World } from "../../support/world.ts";
import {
  callWith,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  pastOffer,
  PRICE,
  startScene,
} from "../scene.ts";

/**
 * Payments that are large enough to be finalized first, and the end of their quotes. Here that is everything
 * from `PRICE` on.
 */
let world: World;
let agent: Agent;
beforeAll(async () => {
  world = await startScene({ FINALIZED_ABOVE_MICROUSD: String(PRICE), PAYMENT_WAIT_MS: "100" });
});
beforeEach(async () => {
  agent = await world.agent();
});
afterEach(async () => {
  world.chain.chain.setTimeOffset(0);
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

/**
 * Pays a quote of 300 s that was issued `issuedAgo` seconds ago, in a block that is `paidAgo` seconds old.
 */
async function paidLongAgo(issuedAgo: number, paidAgo: number, amount = PRICE) {
  const offer = pastOffer(world.postgres.sealingKeys, agent, issuedAgo);
  world.chain.chain.setTimeOffset(-paidAgo);
  const tx = await world.pay(agent, amount, offer.memo);
  return { present: () => callWith(world, agent, tx, offer.quoteId), tx, quoteId: offer.quoteId };
}

const PENDING = /must be finalized first; repeat the call with the same proof, and do not pay again/;
const finalize = () => world.chain.chain.advance(40);

describe("a payment that must be finalized", () => {
  it("returns PAYMENT_PENDING until finality, then buys the call although the quote has expired", async () => {
    const { present, tx, quoteId } = await paidLongAgo(301, 20);
    for (const _ of [1, 2]) {
      const early = await present();
      expectRefused(early, PENDING, "PAYMENT_PENDING", 503);
      expect(early.headers.get("retry-after")).toBe("5");
      await expectNothing(world, agent);
    }
    finalize();
    const bought = await present();
    expectBought(bought, tx, quoteId);
    expect((await present()).body).toEqual(bought.body);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("buys the call up to two minutes after the quote's expiry", async () => {
    const { present, tx, quoteId } = await paidLongAgo(300 + 110, 120);
    finalize();
    expectBought(await present(), tx, quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("returns QUOTE_EXPIRED more than two minutes after the expiry, and leaves the credit to the watch", async () => {
    const { present } = await paidLongAgo(300 + 121, 130);
    finalize();
    expectRefused(
      await present(),
      /^the quote has expired; .* is credited to your balance once/,
      "QUOTE_EXPIRED",
    );
    await expectNothing(world, agent);
  });

  it("returns QUOTE_EXPIRED for a payment sent after the quote's expiry", async () => {
    const { present } = await paidLongAgo(300 + 90, 0);
    finalize();
    expectRefused(await present(), /^the quote has expired.*was credited/, "QUOTE_EXPIRED");
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
  });
});

describe("a payment that need not be finalized", () => {
  it("gets no grace period after its quote's expiry", async () => {
    const other = await startScene();
    try {
      const buyer = await other.agent();
      const offer = pastOffer(other.postgres.sealingKeys, buyer, 302);
      other.chain.chain.setTimeOffset(-20);
      const tx = await other.pay(buyer, PRICE, offer.memo);
      other.chain.chain.advance(40);
      expectRefused(
        await callWith(other, buyer, tx, offer.quoteId),
        /^the quote has expired.*credited/,
        "QUOTE_EXPIRED",
      );
      // The watch may have credited it by now.
      expect((await other.get(buyer, "/receipts")).body.items).toEqual([]);
      expect(await other.violations()).toEqual([]);
    } finally {
      await other.close();
    }
  });
});
