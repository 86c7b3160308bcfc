import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { xPayment, type Agent, type World } from "../../support/world.ts";
import {
  callWith,
  expectAccount,
  expectBought,
  offerFor,
  PARAMS,
  PRICE,
  startScene,
  TOOL,
} from "../scene.ts";

/** Calls refunded by the operator: the account has the money, and every response shows it. */
let world: World;
let agent: Agent;
const KEY = { idempotency_key: "k" };
beforeAll(async () => {
  world = await startScene();
});
beforeEach(async () => {
  agent = await world.agent();
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

const refund = (receiptId: string) =>
  world.postgres.refunds.refund({ receiptId, reason: "the answer was wrong" });

describe("a refunded call", () => {
  it("shows the refund in the receipt, in lists and in the stored answer, and keeps the run unchanged", async () => {
    const { quoteId, memo } = await offerFor(world, agent);
    const tx = await world.pay(agent, PRICE + 5n, memo);
    const bought = await callWith(world, agent, tx, quoteId, KEY);
    expectBought(bought, tx, quoteId);
    const { receipt, ...rest } = bought.body;
    expect(receipt).toMatchObject({ status: "final", refunded_usdc_microusd: 0 });
    expect(await refund(receipt.receipt_id)).toMatchObject({ refunded: true });
    expect(await refund(receipt.receipt_id)).toMatchObject({ refunded: false });
    await expectAccount(world, agent, { balance: PRICE + 5n, receipts: 1 });

    const reported = { ...receipt, status: "refunded", refunded_usdc_microusd: 1000 };
    expect((await world.get(agent, "/receipts?status=refunded")).body.items).toEqual([reported]);
    expect((await world.get(agent, "/receipts?status=final")).body.items).toEqual([]);
    expect((await world.get(agent, `/receipts/${receipt.receipt_id}`)).body).toEqual(reported);
    for (const how of [{ headers: xPayment(tx, quoteId) }, { body: KEY }])
      expect((await world.call(agent, TOOL, PARAMS, how)).body).toEqual({ ...rest, receipt: reported });
    const [run] = (await world.get(agent, "/runs")).body.items;
    expect(run).toMatchObject({
      status: "completed",
      spent_usdc_microusd: 1000,
      receipt_id: receipt.receipt_id,
    });
    await expectAccount(world, agent, { balance: PRICE + 5n, receipts: 1 });
  });

  it("pays the next call with the refund, which is not refunded again", async () => {
    await world.postgres.accounts.adjust({
      accountId: agent.accountId,
      amount: PRICE,
      reason: "test",
      idempotencyKey: agent.accountId,
    });
    const first = await world.call(agent, TOOL, PARAMS);
    await refund(first.body.receipt.receipt_id);
    const second = await world.call(agent, TOOL, PARAMS);
    expect(second.body.receipt).toMatchObject({ paid_by: "balance", status: "final" });
    await refund(first.body.receipt.receipt_id);
    await expectAccount(world, agent, { balance: 0n, receipts: 2 });
    const statuses = (await world.get(agent, "/receipts")).body.items.map(
      ({ status }: { status: string }) => status,
    );
    expect(statuses).toEqual(["final", "refunded"]);
  });
});
