import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { World } from "../support/world.ts";
import { callWith, expectAccount, expectBought, offerFor, PRICE, startScene } from "./scene.ts";

/** Unknown transactions, each of which costs chain queries. */
let world: World;
beforeAll(async () => {
  world = await startScene({ PAYMENT_WAIT_MS: "0" });
});
afterAll(() => world.close());

it("limits an account that sends unknown transactions, and no paying account", async () => {
  const [attacker, payer] = [await world.agent(), await world.agent()];
  const { quoteId } = await offerFor(world, attacker);
  world.chain.faults.resetCallCounts();

  const statuses: number[] = [];
  for (let at = 0; at < 140; at += 20) {
    const proofs = Array.from({ length: 20 }, () => base58.encode(randomBytes(64)));
    const answers = await Promise.all(proofs.map((tx) => callWith(world, attacker, tx, quoteId)));
    for (const { status, body } of answers) {
      statuses.push(status);
      expect(["INVALID_PAYMENT", "RATE_LIMITED"]).toContain(body.code);
    }
  }

  const looked = statuses.filter((status) => status === 402).length;
  expect(looked).toBeGreaterThanOrEqual(100);
  // Some tokens are refilled while the rest are sent.
  expect(looked).toBeLessThan(120);
  expect(world.chain.faults.callCount("getTransaction")).toBeLessThanOrEqual(2 * looked);
  const offer = await offerFor(world, payer);
  const tx = await world.pay(payer, PRICE, offer.memo);
  expectBought(await callWith(world, payer, tx, offer.quoteId), tx, offer.quoteId);
  await expectAccount(world, attacker, { balance: 0n, receipts: 0 });
  expect(await world.violations()).toEqual([]);
});
