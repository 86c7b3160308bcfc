import { afterEach, describe, expect, it } from "vitest";
import { Buyer, pastOffer, PRICE, useScene } from "../scene.ts";

/**
 * Payments that are large enough to be finalized first, and the end of their quotes. Here that is everything
 * from `PRICE` on.
 */
const world = useScene({ FINALIZED_ABOVE_MICROUSD: String(PRICE), PAYMENT_WAIT_MS: "100" });
const quick = useScene();
afterEach(() => world.chain.chain.setTimeOffset(0));

/**
 * Pays a quote of 300 s that was issued `issuedAgo` seconds ago, in a block that is `paidAgo` seconds old.
 */
async function paidLongAgo(issuedAgo: number, paidAgo: number, at = world) {
  const agent = await at.agent();
  const by = new Buyer(at, agent, pastOffer(at.postgres.sealingKeys, agent, issuedAgo));
  at.chain.chain.setTimeOffset(-paidAgo);
  return { by, tx: await by.pay() };
}

const PENDING = /must be finalized first; repeat the call with the same proof, and do not pay again/;
const finalize = (at = world) => at.chain.chain.advance(40);

describe("a payment that must be finalized", () => {
  it("returns PAYMENT_PENDING until finality, then buys the call although the quote has expired", async () => {
    const { by, tx } = await paidLongAgo(301, 20);
    for (const _ of [1, 2]) {
      await by.expectRefused(tx, PENDING, "PAYMENT_PENDING", 503);
      await by.expectNothing();
    }
    expect((await by.prove(tx)).headers.get("retry-after")).toBe("5");
    finalize();
    const bought = await by.expectBought(tx);
    expect((await by.prove(tx)).body).toEqual(bought.body);
    await by.expectOneCall();
  });

  it("buys the call up to two minutes after the quote's expiry", async () => {
    const { by, tx } = await paidLongAgo(300 + 110, 120);
    finalize();
    await by.expectBought(tx);
    await by.expectOneCall();
  });

  it("returns QUOTE_EXPIRED more than two minutes after the expiry, and leaves the credit to the watch", async () => {
    const { by, tx } = await paidLongAgo(300 + 121, 130);
    finalize();
    await by.expectRefused(
      tx,
      /^the quote has expired; .* is credited to your balance once/,
      "QUOTE_EXPIRED",
    );
    await by.expectNothing();
  });

  it("returns QUOTE_EXPIRED for a payment sent after the quote's expiry", async () => {
    const { by, tx } = await paidLongAgo(300 + 90, 0);
    finalize();
    await by.expectRefused(tx, /^the quote has expired.*was credited/, "QUOTE_EXPIRED");
    await by.expectAccount(PRICE, 0);
  });
});

describe("a payment that need not be finalized", () => {
  it("gets no grace period after its quote's expiry", async () => {
    const { by, tx } = await paidLongAgo(302, 20, quick);
    finalize(quick);
    await by.expectRefused(tx, /^the quote has expired.*credited/, "QUOTE_EXPIRED");
    // The watch may have credited it by now.
    expect(await by.receipts()).toEqual([]);
  });
});
