import { afterAll, beforeAll, expect, it } from "vitest";
import { formatUsdc } from "../../src/domain/core/money.ts";
import { memoOf, request, xPayment, type Agent } from "../support/world.ts";
import { PRICE, setScene, soon, type Scene, type Watching } from "./fixture.ts";

/** A payment that bought a call and then vanished from the chain. */
let scene: Scene;
let gateway: Watching;
let agent: Agent;
beforeAll(async () => {
  scene = await setScene();
  gateway = await scene.start();
  agent = await scene.agent();
});
afterAll(() => scene.close());

const balance = () => scene.postgres.ledger.balance(agent.accountId);
const receiptStatus = async () => {
  const { body } = await request(gateway, agent, "/receipts", { method: "GET" });
  return body.items.map(({ status }: { status: string }) => status);
};

it("reverses a vanished payment, blocks paid calls and reinstates it when it lands", async () => {
  const quote = await gateway.quote(agent);
  const tx = await scene.pay(agent, PRICE, memoOf(quote));
  const bought = await gateway.buy(agent, xPayment(tx, quote.quote_id));
  expect(bought.status, JSON.stringify(bought.body)).toBe(200);
  const { chain } = scene.chain;
  const record = chain.history.get(tx);
  if (!record) throw new Error("the payment landed");
  expect(chain.drop(tx)).toBe(true);
  chain.advance(550);
  expect(await gateway.figure("toolgate_payments_reversed_total")).toBe(0);
  expect(await balance()).toBe(0n);

  chain.advance(100);
  await expect.poll(balance, soon).toBe(-PRICE);
  expect(await receiptStatus()).toEqual(["reversed"]);
  expect(await gateway.figure("toolgate_payments_reversed_total")).toBe(1);
  expect(gateway.log.filter(({ tx_signature }) => tx_signature === tx)).toMatchObject([
    {
      level: 50,
      msg: "a payment vanished from the chain and was reversed",
      account: agent.accountId,
      amount_usdc: formatUsdc(PRICE),
      balance_usdc: formatUsdc(-PRICE),
    },
  ]);
  const refused = await gateway.buy(agent);
  expect(refused.status).toBe(403);
  expect(refused.body.message).toMatch(/reversed/);
  expect(await scene.violations()).toEqual([]);

  // Another node kept it, and its fork is the one that stays.
  chain.replay(record.transaction, {
    slot: chain.slots.current,
    blockTime: chain.slots.unixSeconds(),
    rooted: true,
  });
  scene.finalize();
  await expect.poll(balance, soon).toBe(0n);
  expect(await receiptStatus()).toEqual(["final"]);
  expect(await gateway.figure("toolgate_payments_reinstated_total")).toBe(1);
  expect((await gateway.buy(agent)).status).toBe(402);
  expect(await scene.violations()).toEqual([]);
});
