import { beforeEach, describe, expect, it } from "vitest";
import { SOLANA } from "../../../src/domain/payments/payment-id.ts";
import { useModelServer } from "../../support/use-world.ts";
import { xPayment, type Answer } from "../../support/world.ts";
import { buyer, expectRefused, PARAMS, PRICE, TOOL, useScene, type Buyer } from "../scene.ts";
import { ChatBuyer } from "./chat.ts";

/**
 * Payments that were accepted, vanished from the chain and were taken back: before they bought anything,
 * while they did, and after.
 */
const model = useModelServer();
const world = useScene(() => ({ INFERENCE_BASE_URL: model.url }));
const KEY = { idempotency_key: "k" };
let by: Buyer;
beforeEach(async () => {
  by = await buyer(world);
});

/** A fork without the transaction wins, and the credit is taken back. */
async function takeBack(tx: string): Promise<void> {
  expect(world.chain.chain.drop(tx)).toBe(true);
  await world.postgres.treasuryLedger.reverse({ network: SOLANA, reference: tx });
}

/** Makes the balance negative by `debt`: a payment vanished after it bought calls. */
async function indebted(calls: bigint): Promise<{ tx: string; paid: Buyer; bought: Answer }> {
  const paid = await by.again();
  const tx = await paid.pay(calls * PRICE);
  const bought = await paid.expectBought(tx, KEY);
  for (let n = 1n; n < calls; n++) expect((await by.call()).status).toBe(200);
  await takeBack(tx);
  await by.expectAccount(-calls * PRICE, Number(calls));
  return { tx, paid, bought };
}

const TAKEN_BACK =
  /the transaction vanished from the chain and its credit was reversed; nothing was charged for this call, and your balance is \$0\.00\. Repeat the call without a proof/;

describe("a payment reversed before it bought a call", () => {
  it("refuses a reversed payment under any key with the balance, and does not credit it again", async () => {
    const tx = await by.pay(PRICE - 1n);
    await by.expectRefused(tx, /was sent, the price is/);
    await takeBack(tx);
    for (const extra of [{}, KEY]) expectRefused(await by.prove(tx, extra), TAKEN_BACK);
    await by.expectNothing();
    const again = await by.again();
    await again.expectBought(await again.pay(), KEY);
    await by.expectOneCall();
  });

  it("refuses a reversed payment for the retry of a failed tool", async () => {
    const paid = await ChatBuyer.pay(world);
    model.status = 500;
    expect((await paid.proved(KEY)).body.code).toBe("TOOL_FAILED");
    model.status = 200;
    await takeBack(paid.tx);
    for (const body of [{}, KEY]) expectRefused(await paid.proved(body), TAKEN_BACK);
    expect((await paid.chat({ body: KEY })).body.code).toBe("PAYMENT_REQUIRED");
    await paid.expectNothing();
    expect((await (await ChatBuyer.pay(world, paid.agent)).proved(KEY)).status).toBe(200);
    await paid.expectOneCall();
  });
});

it("credits another payment of the quote, which pays the repeated call", async () => {
  const paid = await ChatBuyer.pay(world);
  model.status = 500;
  expect((await paid.proved()).body.code).toBe("TOOL_FAILED");
  model.status = 200;
  await takeBack(paid.tx);
  const second = xPayment(await paid.pay(paid.price), paid.quoteId);
  const credited =
    /the quote was paid before by another transaction; this one was credited to your balance, repeat the call without a proof to use it$/;
  for (const _ of [1, 2]) expectRefused(await paid.proved({}, second), credited);
  await paid.expectAccount(paid.price, 0);
  expect((await paid.chat()).body.receipt.paid_by).toBe("balance");
  await paid.expectOneCall();
});

describe("a payment reversed while its call runs", () => {
  it("finishes and returns the call, and makes the balance negative", async () => {
    const gate = Promise.withResolvers<void>();
    model.waits = gate.promise;
    const paid = await ChatBuyer.pay(world);
    const answer = paid.proved();
    await expect.poll(() => paid.runs()).toEqual(["active"]);
    await takeBack(paid.tx);
    await paid.expectAccount(-paid.price, 0);
    gate.resolve();
    const bought = await answer;
    expect(bought.body).toMatchObject({ ok: true, receipt: { tx_signature: paid.tx, status: "reversed" } });
    expect((await paid.proved()).body).toEqual(bought.body);
    await paid.expectAccount(-paid.price, 1);
  });
});

describe("a payment reversed after it bought a call", () => {
  it("keeps the stored answer of the call, with the reversal in its receipt and in lists", async () => {
    const { tx, paid, bought } = await indebted(1n);
    const { receipt, ...rest } = bought.body;
    const reported = { ...rest, receipt: { ...receipt, status: "reversed" } };
    for (const body of [{}, KEY, { idempotency_key: "k2" }])
      expect((await paid.prove(tx, body)).body).toEqual(reported);
    expect((await paid.call({ body: KEY })).body).toEqual(reported);
    expect(await by.receipts("?status=reversed")).toEqual([reported.receipt]);
    expect(await by.receipts("?status=final")).toEqual([]);
    const { receipt_id } = receipt;
    expect((await world.get(by.agent, `/receipts/${receipt_id}`)).body).toEqual(reported.receipt);
    const [run] = (await world.get(by.agent, "/runs")).body.items;
    expect(run).toMatchObject({ status: "completed", spent_usdc_microusd: 1000, receipt_id });
    await by.expectAccount(-PRICE, 1);
  });
});

describe("an account with a negative balance", () => {
  it("returns the missing amount without a quote; free calls work", async () => {
    await indebted(5n);
    const free = { body: { idempotency_key: "free" } };
    expect((await world.call(by.agent, "echo", { message: "x" }, free)).status).toBe(200);
    const missing =
      /^the balance is -\$0\.005 and this call costs \$0\.001: \$0\.006 is missing, because a payment that was spent vanished from the chain and was reversed\. Paid calls are blocked until a deposit covers it; free calls work\. Deposit USDC and repeat the call unchanged, or ask the operator$/;
    for (const body of [{}, {}, { idempotency_key: "new" }])
      expectRefused(await by.call({ body }), missing, "FORBIDDEN", 403);
    await by.expectAccount(-5n * PRICE, 5);
  });

  it("gets the same error on every other transport", async () => {
    await indebted(2n);
    const params = { name: TOOL, arguments: PARAMS };
    const rpc = await world.post(by.agent, "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const codes = { status: rpc.status, code: rpc.body.code, data: rpc.body.error.data.code };
    expect(codes).toEqual({ status: 403, code: "FORBIDDEN", data: "FORBIDDEN" });
    const plain = await world.post(by.agent, "/mcp", { tool: TOOL, params: PARAMS });
    expectRefused(plain, /\$0\.003 is missing/, "FORBIDDEN", 403);
    for (const answer of [rpc, plain]) expect(JSON.stringify(answer.body)).not.toContain("qt_");
  });

  it("credits payments of the account, and accepts its proofs and keys once the debt is covered", async () => {
    await indebted(5n);
    const tx = await by.pay(2n * PRICE);
    const later = { idempotency_key: "later" };
    const owed =
      /^the balance is -\$0\.003 .*\$0\.004 is missing.*The payment that came with it was credited\./;
    for (const _ of [1, 2]) expectRefused(await by.prove(tx, later), owed, "FORBIDDEN", 403);
    await by.expectAccount(-3n * PRICE, 5);
    await by.deposit(4n * PRICE);
    const bought = await by.expectBought(tx);
    expect((await by.prove(tx, later)).body).toEqual(bought.body);
    await by.expectAccount(0n, 6);
    expect((await by.call()).body.code, "quotes again").toBe("PAYMENT_REQUIRED");
  });

  it("names both amounts and offers no quote when a payment covers the debt but not the call", async () => {
    await indebted(1n);
    await by.deposit(PRICE / 2n);
    const tx = await by.pay();
    const spent =
      /was credited to your balance, but .* a reversed payment have used it: the balance is \$0\.0005 and this call costs \$0\.001\. Repeat the call without a proof and pay the new quote, or deposit USDC$/;
    for (const _ of [1, 2]) await by.expectRefused(tx, spent);
    await by.expectAccount(PRICE / 2n, 1);
    const next = await by.again();
    await next.expectBought(await next.pay());
    await by.deposit(PRICE / 2n);
    await by.expectBought(tx);
    await by.expectAccount(0n, 3);
  });
});
