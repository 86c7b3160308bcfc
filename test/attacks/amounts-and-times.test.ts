import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterEach, describe, expect, it } from "vitest";
import type { World } from "../support/world.ts";
import { buyer, Buyer, pastOffer, payer, PRICE, useScene } from "./scene.ts";

const world = useScene();
afterEach(() => world.chain.chain.setTimeOffset(0));

const unknownTx = () => base58.encode(randomBytes(64));
const KEY = { idempotency_key: "k" };

/** A new account whose quote is that old. */
async function past(secondsAgo: number, at: World = world): Promise<Buyer> {
  const agent = await at.agent();
  return new Buyer(at, agent, pastOffer(at.postgres.sealingKeys, agent, secondsAgo));
}

describe("an underpayment", () => {
  it("credits an underpayment once and names both amounts, however often it is presented", async () => {
    const by = await buyer(world);
    const tx = await by.pay(PRICE - 1n);
    await by.expectRefused(
      tx,
      /\$0\.000999 was sent, the price is \$0\.001; \$0\.000999 was credited to your balance/,
    );
    for (const body of [{}, KEY])
      expect((await by.prove(tx, body)).body).toMatchObject({
        code: "INVALID_PAYMENT",
        message: expect.stringMatching(/was sent, the price is .* credited to your balance before/),
      });
    await by.expectAccount(PRICE - 1n, 0);
  });

  it("pays the call from the balance after a second transfer covers an underpayment", async () => {
    const by = await buyer(world);
    for (const part of [400n, 600n]) await by.expectRefused(await by.pay(part), /was sent, the price is/);
    await by.expectAccount(PRICE, 0);
    expect((await by.call()).body.receipt).toMatchObject({ paid_by: "balance", debited_usdc_microusd: 1000 });
    await by.expectOneCall();
  });

  it("credits an underpayment once when many callers present it concurrently", async () => {
    const by = await buyer(world);
    const tx = await by.pay(1n);
    await Promise.all(Array.from({ length: 12 }, () => by.expectRefused(tx, /\$0\.000001 was sent/)));
    await by.expectAccount(1n, 0);
  });
});

describe("an overpayment", () => {
  it("charges the price of an overpaid call and keeps the rest on the balance", async () => {
    const by = await buyer(world);
    const tx = await by.pay(2n * PRICE + 1n);
    for (const _ of [1, 2]) await by.expectBought(tx);
    await by.expectAccount(PRICE + 1n, 1);
  });
});

describe("a second payment of the same quote", () => {
  it("credits a second payment of a quote once, and pays the next call with it", async () => {
    const { by, tx } = await payer(world);
    const second = await by.pay(PRICE, by.memo(2));
    await by.expectBought(tx);
    await by.expectRefused(
      second,
      /the quote was paid before by another transaction; this one was credited to your balance/,
    );
    await by.expectRefused(second, /paid before by another transaction/);
    await by.expectAccount(PRICE, 1);
    expect((await by.call()).body.receipt).toMatchObject({ paid_by: "balance" });
    await by.expectAccount(0n, 2);
  });

  it("lets one of two concurrent payments buy the call and credits the other", async () => {
    const by = await buyer(world);
    const txs = await Promise.all(Array.from({ length: 6 }, (_, n) => by.pay(PRICE, by.memo(n))));
    const answers = await Promise.all(txs.map((tx) => by.prove(tx)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 200);
    for (const { body } of refused) expect(body.message).toMatch(/paid before by another transaction/);
    await by.expectAccount(5n * PRICE, 1);
  });

  it("treats a second payment under the first one's key as a repeat, and credits it once", async () => {
    const { by, tx } = await payer(world);
    const second = await by.pay(PRICE, by.memo(2));
    const bought = await by.prove(tx, KEY);
    for (const _ of [1, 2]) {
      expect((await by.prove(second, KEY)).body).toEqual(bought.body);
      await by.expectAccount(PRICE, 1);
    }
    await by.expectRefused(second, /this one was credited to your balance/);
    await by.expectAccount(PRICE, 1);
  });
});

describe("a payment under the key of a charged call", () => {
  it("credits a payment under the key of a charged call, also for another quote or amount", async () => {
    const { by, tx } = await payer(world);
    const bought = await by.prove(tx, KEY);
    let balance = 0n;
    for (const amount of [PRICE, 1n, 3n * PRICE]) {
      const other = new Buyer(world, by.agent, pastOffer(world.postgres.sealingKeys, by.agent, 0));
      const repeat = await other.prove(await other.pay(amount), KEY);
      expect({ status: repeat.status, body: repeat.body }).toEqual({ status: 200, body: bought.body });
      balance += amount;
      await by.expectAccount(balance, 1);
    }
  });

  it("ignores an unknown or foreign payment under the key of a charged call", async () => {
    const { by, tx } = await payer(world);
    const bought = await by.prove(tx, KEY);
    const { by: stranger, tx: stolen } = await payer(world);
    const mine = await by.again();
    for (const [proof, { offer }] of [
      [stolen, mine],
      [stolen, stranger],
      [unknownTx(), mine],
    ] as const) {
      const repeat = await by.prove(proof, KEY, offer);
      expect({ status: repeat.status, body: repeat.body }).toEqual({ status: 200, body: bought.body });
    }
    await by.expectOneCall();
    await stranger.expectBought(stolen);
  });
});

describe("a late payment, watched", () => {
  const quick = useScene({ WATCH_INTERVAL_MS: "100" });

  it("returns QUOTE_EXPIRED for a late payment without a chain query", async () => {
    const by = await past(301);
    const [tx, unknown] = [await by.pay(), unknownTx()];
    world.chain.faults.resetCallCounts();
    const expired =
      /the quote has expired; a payment made for it is credited to your balance once it is finalized/;
    for (const proof of [tx, unknown, unknown]) await by.expectRefused(proof, expired, "QUOTE_EXPIRED");
    for (const method of ["getTransaction", "getSignatureStatuses"])
      expect(world.chain.faults.callCount(method)).toBe(0);
  });

  it("returns QUOTE_EXPIRED for a late payment that the watch credits once", async () => {
    const by = await past(301, quick);
    const tx = await by.pay();
    await by.expectRefused(tx, /the quote has expired/, "QUOTE_EXPIRED");
    quick.chain.chain.advance(40);
    await expect.poll(() => quick.postgres.ledger.balance(by.agent.accountId)).toBe(PRICE);
    await by.expectRefused(tx, /the quote has expired/, "QUOTE_EXPIRED");
    expect((await by.call()).status).toBe(200);
    await by.expectOneCall();
  });
});

describe("a payment late by the configured 10 s", () => {
  const hasty = useScene({ QUOTE_TTL_SECONDS: "10" });

  it("expires a quote after the configured 10 s", async () => {
    const { by, tx } = await payer(hasty);
    const unused = await by.again();
    const late = await unused.pay();
    const bought = await by.expectBought(tx);
    // The quote's own time counts, not the instance's current settings.
    const expired = await past(290, hasty);
    await expired.expectBought(await expired.pay());
    const issuedBefore = Date.now();
    await expect.poll(() => Date.now(), { interval: 500 }).toBeGreaterThan(issuedBefore + 11_000);
    await unused.expectRefused(late, /expired.*credited/, "QUOTE_EXPIRED");
    expect((await by.prove(tx)).body, "a replay comes before expiry").toEqual(bought.body);
    await by.expectOneCall();
  });
});

describe("a late payment, or one that is too early", () => {
  it("returns QUOTE_EXPIRED for a payment that is late by the chain's clock", async () => {
    const by = await buyer(world);
    world.chain.chain.setTimeOffset(300 + 120);
    await by.expectRefused(await by.pay(), /the quote has expired.*credited/, "QUOTE_EXPIRED");
    await by.expectAccount(PRICE, 0);
  });

  it("accepts a payment in the last seconds of its quote", async () => {
    const by = await past(280);
    await by.expectBought(await by.pay());
    await by.expectOneCall();
  });

  it("credits and refuses a payment that is older than its quote", async () => {
    const by = await buyer(world);
    world.chain.chain.setTimeOffset(-120);
    await by.expectRefused(await by.pay(), /the transaction is older than the quote; \$0\.001 was credited/);
    await by.expectAccount(PRICE, 0);
  });

  it("accepts a payment whose block time precedes the quote within the clock tolerance", async () => {
    const by = await buyer(world);
    world.chain.chain.setTimeOffset(-45);
    await by.expectBought(await by.pay());
    await by.expectOneCall();
  });
});
