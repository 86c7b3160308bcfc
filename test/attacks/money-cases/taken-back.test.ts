import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";
import { memoOf, xPayment, type Agent, type Answer, type World } from "../../support/world.ts";
import {
  callWith,
  expectAccount,
  expectBought,
  expectRefused,
  offerFor,
  PARAMS,
  PRICE,
  startScene,
  TOOL,
} from "../scene.ts";
import { chat, payChat, statusesOfRuns } from "./chat.ts";
import { NETWORK } from "../../../src/domain/payments/body-proof.ts";

/**
 * Payments that were accepted, vanished from the chain and were taken back: before they bought anything,
 * while they did, and after.
 */
let world: World;
let model: ModelServer;
let agent: Agent;
const KEY = { idempotency_key: "k" };
beforeAll(async () => {
  model = await startModelServer();
  world = await startScene({ INFERENCE_BASE_URL: model.url });
});
beforeEach(async () => {
  agent = await world.agent();
});
afterEach(async () => {
  model.status = 200;
  model.waits = undefined;
  expect(await world.violations()).toEqual([]);
});
afterAll(async () => {
  await world.close();
  model.close();
});

/** A fork without the transaction wins, and the credit is taken back. */
async function takeBack(tx: string): Promise<void> {
  expect(world.chain.chain.drop(tx)).toBe(true);
  await world.postgres.treasuryLedger.reverse({ network: NETWORK, reference: tx });
}

/** A deposit from the account's point of view. */
async function deposit(amount: bigint): Promise<void> {
  const { accountId } = agent;
  await world.postgres.accounts.adjust({
    accountId,
    amount,
    reason: "deposit",
    idempotencyKey: randomUUID(),
  });
}

async function pay(amount = PRICE): Promise<{ tx: string; quoteId: string }> {
  const { quoteId, memo } = await offerFor(world, agent);
  return { quoteId, tx: await world.pay(agent, amount, memo) };
}

/** Makes the balance negative by `debt`: a payment vanished after it bought calls. */
async function indebted(calls: bigint): Promise<{ tx: string; quoteId: string; bought: Answer }> {
  const payment = await pay(calls * PRICE);
  const bought = await callWith(world, agent, payment.tx, payment.quoteId, KEY);
  expectBought(bought, payment.tx, payment.quoteId);
  for (let n = 1n; n < calls; n++) expect((await world.call(agent, TOOL, PARAMS)).status).toBe(200);
  await takeBack(payment.tx);
  await expectAccount(world, agent, { balance: -calls * PRICE, receipts: Number(calls) });
  return { ...payment, bought };
}

const TAKEN_BACK = (balance: string) =>
  new RegExp(
    "the transaction vanished from the chain and its credit was reversed; nothing was charged for " +
      `this call, and your balance is ${balance.replaceAll(/[$.]/g, String.raw`\$&`)}\\. Repeat the ` +
      "call without a proof",
  );

describe("a payment reversed before it bought a call", () => {
  it("refuses a reversed payment under any key with the balance, and does not credit it again", async () => {
    const { tx, quoteId } = await pay(PRICE - 1n);
    expectRefused(await callWith(world, agent, tx, quoteId), /was sent, the price is/);
    await takeBack(tx);
    for (const extra of [{}, KEY])
      expectRefused(await callWith(world, agent, tx, quoteId, extra), TAKEN_BACK("$0.00"));
    await expectAccount(world, agent, { balance: 0n, receipts: 0 });
    const again = await pay();
    expectBought(await callWith(world, agent, again.tx, again.quoteId, KEY), again.tx, again.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("refuses a reversed payment for the retry of a failed tool", async () => {
    const paid = await payChat(world, agent);
    model.status = 500;
    expect((await chat(world, agent, { headers: paid.headers, body: KEY })).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    await takeBack(paid.tx);
    for (const body of [{}, KEY])
      expectRefused(await chat(world, agent, { headers: paid.headers, body }), TAKEN_BACK("$0.00"));
    expect((await chat(world, agent, { body: KEY })).body.code).toBe("PAYMENT_REQUIRED");
    await expectAccount(world, agent, { balance: 0n, receipts: 0 });
    const again = await payChat(world, agent);
    expect((await chat(world, agent, { headers: again.headers, body: KEY })).status).toBe(200);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("a quote whose payment was reversed", () => {
  it("credits another payment of the quote, which pays the repeated call", async () => {
    const paid = await payChat(world, agent);
    model.status = 500;
    expect((await chat(world, agent, { headers: paid.headers })).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    await takeBack(paid.tx);
    const second = await world.pay(agent, paid.price, memoOf({ quote_id: paid.quoteId }));
    const headers = xPayment(second, paid.quoteId);
    for (const _ of [1, 2])
      expectRefused(
        await chat(world, agent, { headers }),
        /the quote was paid before by another transaction; this one was credited to your balance, repeat the call without a proof to use it$/,
      );
    await expectAccount(world, agent, { balance: paid.price, receipts: 0 });
    expect((await chat(world, agent)).body.receipt.paid_by).toBe("balance");
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("a payment reversed while its call runs", () => {
  it("finishes and returns the call, and makes the balance negative", async () => {
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const paid = await payChat(world, agent);
    const answer = chat(world, agent, { headers: paid.headers });
    await expect.poll(() => statusesOfRuns(world, agent)).toEqual(["active"]);
    await takeBack(paid.tx);
    await expectAccount(world, agent, { balance: -paid.price, receipts: 0 });
    gate.resolve();
    const bought = await answer;
    expect(bought.body).toMatchObject({ ok: true, receipt: { tx_signature: paid.tx, status: "reversed" } });
    expect((await chat(world, agent, { headers: paid.headers })).body).toEqual(bought.body);
    await expectAccount(world, agent, { balance: -paid.price, receipts: 1 });
  });
});

describe("a payment reversed after it bought a call", () => {
  it("keeps the stored answer of the call, with the reversal in its receipt and in lists", async () => {
    const { tx, quoteId, bought } = await indebted(1n);
    const { receipt, ...rest } = bought.body;
    const reported = { ...rest, receipt: { ...receipt, status: "reversed" } };
    const headers = xPayment(tx, quoteId);
    for (const how of [
      { headers },
      { body: KEY },
      { headers, body: KEY },
      { headers, body: { idempotency_key: "k2" } },
    ])
      expect((await world.call(agent, TOOL, PARAMS, how)).body).toEqual(reported);
    const page = await world.get(agent, "/receipts?status=reversed");
    expect(page.body.items).toEqual([reported.receipt]);
    expect((await world.get(agent, "/receipts?status=final")).body.items).toEqual([]);
    expect((await world.get(agent, `/receipts/${receipt.receipt_id}`)).body).toEqual(reported.receipt);
    const [run] = (await world.get(agent, "/runs")).body.items;
    expect(run).toMatchObject({
      status: "completed",
      spent_usdc_microusd: 1000,
      receipt_id: receipt.receipt_id,
    });
    await expectAccount(world, agent, { balance: -PRICE, receipts: 1 });
  });
});

describe("an account with a negative balance", () => {
  it("returns the missing amount without a quote; free calls work", async () => {
    await indebted(5n);
    const status = await world.call(agent, "get_status", {});
    expect(status.body.result.balance_usdc).toBe("-0.005000");
    expect(
      (await world.call(agent, "echo", { message: "x" }, { body: { idempotency_key: "free" } })).status,
    ).toBe(200);
    for (const body of [{}, {}, { idempotency_key: "new" }]) {
      expectRefused(
        await world.call(agent, TOOL, PARAMS, { body }),
        /^the balance is -\$0\.005 and this call costs \$0\.001: \$0\.006 is missing, because a payment that was spent vanished from the chain and was reversed\. Paid calls are blocked until a deposit covers it; free calls work\. Deposit USDC and repeat the call unchanged, or ask the operator$/,
        "FORBIDDEN",
        403,
      );
    }
    await expectAccount(world, agent, { balance: -5n * PRICE, receipts: 5 });
  });

  it("gets the same error on every other transport", async () => {
    await indebted(2n);
    const params = { name: TOOL, arguments: PARAMS };
    const rpc = await world.post(agent, "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    expect({ status: rpc.status, code: rpc.body.code, data: rpc.body.error.data.code }).toEqual({
      status: 403,
      code: "FORBIDDEN",
      data: "FORBIDDEN",
    });
    const plain = await world.post(agent, "/mcp", { tool: TOOL, params: PARAMS });
    expectRefused(plain, /\$0\.003 is missing/, "FORBIDDEN", 403);
    for (const answer of [rpc, plain]) expect(JSON.stringify(answer.body)).not.toContain("qt_");
  });

  it("credits payments of the account, and accepts its proofs and keys once the debt is covered", async () => {
    const open = await offerFor(world, agent);
    await indebted(5n);
    const tx = await world.pay(agent, 2n * PRICE, open.memo);
    for (const _ of [1, 2])
      expectRefused(
        await callWith(world, agent, tx, open.quoteId, { idempotency_key: "later" }),
        /^the balance is -\$0\.003 .*\$0\.004 is missing.*The payment that came with it was credited\./,
        "FORBIDDEN",
        403,
      );
    await expectAccount(world, agent, { balance: -3n * PRICE, receipts: 5 });
    await deposit(4n * PRICE);
    const bought = await callWith(world, agent, tx, open.quoteId);
    expectBought(bought, tx, open.quoteId);
    const late = await callWith(world, agent, tx, open.quoteId, { idempotency_key: "later" });
    expect(late.body).toEqual(bought.body);
    await expectAccount(world, agent, { balance: 0n, receipts: 6 });
    expect((await world.call(agent, TOOL, PARAMS)).body.code, "quotes again").toBe("PAYMENT_REQUIRED");
  });

  it("names both amounts and offers no quote when a payment covers the debt but not the call", async () => {
    const open = await offerFor(world, agent);
    await indebted(1n);
    await deposit(PRICE / 2n);
    const tx = await world.pay(agent, PRICE, open.memo);
    for (const _ of [1, 2])
      expectRefused(
        await callWith(world, agent, tx, open.quoteId),
        /was credited to your balance, but .* a reversed payment have used it: the balance is \$0\.0005 and this call costs \$0\.001\. Repeat the call without a proof and pay the new quote, or deposit USDC$/,
      );
    await expectAccount(world, agent, { balance: PRICE / 2n, receipts: 1 });
    const offered = await world.call(agent, TOOL, PARAMS);
    const second = await world.pay(agent, PRICE, memoOf(offered.body.quote));
    const { quote_id: quoteId } = offered.body.quote;
    expectBought(await callWith(world, agent, second, quoteId), second, quoteId);
    await deposit(PRICE / 2n);
    expectBought(await callWith(world, agent, tx, open.quoteId), tx, open.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 3 });
  });
});
