import { randomBytes } from "node:crypto";
import { base58 } from "@scure/base";
import { expect, it } from "vitest";
import { buyer, payer, useScene } from "./scene.ts";

/** Unknown transactions, each of which costs chain queries. */
const world = useScene({ PAYMENT_WAIT_MS: "0" });

it("limits an account that sends unknown transactions, and no paying account", async () => {
  const attacker = await buyer(world);
  world.chain.faults.resetCallCounts();

  const statuses: number[] = [];
  for (let at = 0; at < 140; at += 20) {
    const proofs = Array.from({ length: 20 }, () => base58.encode(randomBytes(64)));
    for (const { status, body } of await Promise.all(proofs.map((tx) => attacker.prove(tx)))) {
      statuses.push(status);
      expect(["INVALID_PAYMENT", "RATE_LIMITED"]).toContain(body.code);
    }
  }

  const looked = statuses.filter((status) => status === 402).length;
  expect(looked).toBeGreaterThanOrEqual(100);
  // Some tokens are refilled while the rest are sent.
  expect(looked).toBeLessThan(120);
  expect(world.chain.faults.callCount("getTransaction")).toBeLessThanOrEqual(2 * looked);
  const { by, tx } = await payer(world);
  await by.expectBought(tx);
  await attacker.expectNothing();
});
