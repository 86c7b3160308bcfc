import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Agent, Answer, World } from "../support/world.ts";
import {
  callWith,
  callWithBody,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  offerFor,
  PARAMS,
  PRICE,
  startScene,
  TOOL,
  USED,
  type Offer,
} from "./scene.ts";

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

const withHeader = (value: string) => world.call(agent, TOOL, PARAMS, { headers: { "X-Payment": value } });

/** One receipt in all answers that succeeded, and at least one did. */
function expectOneReceipt(answers: readonly Answer[]): void {
  const bought = answers.filter(({ status }) => status === 200);
  expect(bought.length).toBeGreaterThan(0);
  expect(new Set(bought.map(({ body }) => body.receipt.receipt_id)).size).toBe(1);
  for (const answer of answers) {
    if (answer.status !== 200) expectRefused(answer, /the same call is running/, "REQUEST_IN_PROGRESS", 409);
  }
}

describe("a charged proof", () => {
  it("returns the stored answer for any encoding of the header, and never charges again", async () => {
    const proof = { tx, quote_id: offer.quoteId };
    const first = await callWith(world, agent, tx, offer.quoteId);
    expectBought(first, tx, offer.quoteId);
    const texts = [
      JSON.stringify(proof),
      JSON.stringify(proof, null, 2),
      ` ${JSON.stringify(proof)}\r\n`,
      JSON.stringify({ quote_id: offer.quoteId, tx }),
      JSON.stringify({ tx_signature: tx, quote_id: offer.quoteId }),
      JSON.stringify({ ...proof, tx_signature: tx }),
      JSON.stringify(proof).replace("tx", "\\u0074x"),
    ];
    for (const text of texts) {
      const standard = Buffer.from(text).toString("base64");
      const url = Buffer.from(text).toString("base64url");
      for (const value of new Set([standard, standard.replace(/=+$/, ""), url, `  ${url}`])) {
        expect((await withHeader(value)).body, value).toEqual(first.body);
      }
    }
    expect((await callWithBody(world, agent, { tx_ref: tx, memo: offer.memo })).body).toEqual(first.body);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("buys nothing under another quote of the account", async () => {
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    const second = await offerFor(world, agent);
    for (const key of ["a", "b"]) {
      expectRefused(await callWith(world, agent, tx, second.quoteId, { idempotency_key: key }), USED);
    }
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("reveals nothing to another account, under its own quote or the payer's", async () => {
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    const thief = await world.agent();
    const own = await offerFor(world, thief);
    for (const quoteId of [offer.quoteId, own.quoteId]) {
      for (const extra of [{}, { idempotency_key: "theft" }]) {
        const answer = await callWith(world, thief, tx, quoteId, extra);
        expectRefused(answer, USED);
        expect(JSON.stringify(answer.body)).not.toContain("rcpt_");
      }
    }
    await expectNothing(world, thief);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("does not free its idempotency key for another call", async () => {
    await callWith(world, agent, tx, offer.quoteId, { idempotency_key: "k" });
    const params = { model: "llama-3.1-70b" };
    const other = await world.call(agent, TOOL, params, { body: { idempotency_key: "k" } });
    expectRefused(other, /another tool or other params/, "IDEMPOTENCY_MISMATCH", 422);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("one proof presented concurrently", () => {
  it("is charged once without keys", async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => callWith(world, agent, tx, offer.quoteId)),
    );
    expectOneReceipt(answers);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("is charged once under different keys, and every key returns the same answer", async () => {
    const keys = Array.from({ length: 24 }, (_, n) => ({ idempotency_key: `k${n}` }));
    expectOneReceipt(await Promise.all(keys.map((key) => callWith(world, agent, tx, offer.quoteId, key))));
    const again = await Promise.all(keys.map((key) => callWith(world, agent, tx, offer.quoteId, key)));
    expect(again.map(({ status }) => status)).toEqual(keys.map(() => 200));
    expectOneReceipt(again);
    const byKey = await Promise.all(keys.map((key) => world.call(agent, TOOL, PARAMS, { body: key })));
    for (const { body } of byKey) expect(body).toEqual(again[0]?.body);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("is charged once in header and body, with and without keys, to its account only", async () => {
    const thieves = await Promise.all(Array.from({ length: 3 }, () => world.agent()));
    const owns = await Promise.all(thieves.map((thief) => offerFor(world, thief)));
    const [answers, stolen] = await Promise.all([
      Promise.all(
        Array.from({ length: 18 }, (_, n) => {
          if (n % 3 === 0)
            return callWithBody(world, agent, { tx_ref: tx, memo: offer.memo, amount_usdc: "0.001" });
          return callWith(
            world,
            agent,
            tx,
            offer.quoteId,
            n % 3 === 1 ? {} : { idempotency_key: `k${n % 2}` },
          );
        }),
      ),
      Promise.all(
        thieves.flatMap((thief, n) =>
          [offer.quoteId, owns[n]?.quoteId ?? ""].map((quoteId) => callWith(world, thief, tx, quoteId)),
        ),
      ),
    ]);
    expectOneReceipt(answers);
    for (const answer of stolen)
      expectRefused(answer, /issued to another account|names another quote|used for another call/);
    for (const thief of thieves) await expectNothing(world, thief);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("is charged once when it arrives before the transaction is confirmed", async () => {
    const next = await offerFor(world, agent);
    world.chain.faults.add({ method: "getTransaction", fault: { kind: "null" }, calls: 8 });
    const early = await world.pay(agent, PRICE, next.memo);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => callWith(world, agent, early, next.quoteId)),
    );
    world.chain.faults.clear();
    expectOneReceipt(answers);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});
