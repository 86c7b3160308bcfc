import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { xPayment, type Agent, type Answer, type World } from "../../support/world.ts";
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

/** The call of an idempotency key before and after the payment, and the money a call takes. */
let world: World;
let agent: Agent;
const OTHER = { model: "llama-3.1-70b" };
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

const call = (extra: { headers?: Record<string, string>; body?: object } = {}, params: object = PARAMS) =>
  world.call(agent, TOOL, params, extra);

function expectMismatch(answer: Answer): void {
  expectRefused(
    answer,
    /^idempotency_key: was used with another tool or other params; use a new key for a new call$/,
    "IDEMPOTENCY_MISMATCH",
    422,
  );
}

async function pay(): Promise<{ tx: string; quoteId: string }> {
  const { quoteId, memo } = await offerFor(world, agent);
  return { quoteId, tx: await world.pay(agent, PRICE, memo) };
}

describe("an idempotency key of a call with insufficient funds", () => {
  it("stays free after a 402, which claims nothing", async () => {
    expect((await call({ body: KEY })).body.code).toBe("PAYMENT_REQUIRED");
    expect((await call({ body: KEY }, OTHER)).body.code).toBe("PAYMENT_REQUIRED");
    const { tx, quoteId } = await pay();
    expectBought(await callWith(world, agent, tx, quoteId, KEY), tx, quoteId);
    expectMismatch(await call({ body: KEY }, OTHER));
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("stays free when the payment that came with it was too small", async () => {
    const { quoteId, memo } = await offerFor(world, agent);
    const tx = await world.pay(agent, PRICE - 1n, memo);
    expectRefused(await callWith(world, agent, tx, quoteId, KEY), /was sent, the price is/);
    expect((await call({ body: KEY }, OTHER)).body.code).toBe("PAYMENT_REQUIRED");
    await expectAccount(world, agent, { balance: PRICE - 1n, receipts: 0 });
  });
});

describe("an idempotency key used with other params", () => {
  it("returns 422 for a reused key and leaves the payment for a new key", async () => {
    const taken = await world.call(agent, "echo", { message: "" }, { body: KEY });
    expect(taken.status).toBe(200);
    expectMismatch(await call({ body: KEY }));
    const { tx, quoteId } = await pay();
    for (const _ of [1, 2]) expectMismatch(await callWith(world, agent, tx, quoteId, KEY));
    await expectAccount(world, agent, { balance: 0n, receipts: 0 });
    expectBought(await callWith(world, agent, tx, quoteId, { idempotency_key: "new" }), tx, quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("returns 422 for a reused key after the payment, and keeps the key for its first call", async () => {
    const { tx, quoteId } = await pay();
    const bought = await callWith(world, agent, tx, quoteId, KEY);
    expectMismatch(await call({ body: KEY }, OTHER));
    expectMismatch(await world.call(agent, "echo", { message: "" }, { body: KEY }));
    const other = await offerFor(world, agent, OTHER);
    const second = await world.pay(agent, PRICE, other.memo);
    expectMismatch(await call({ body: KEY, headers: xPayment(second, other.quoteId) }, OTHER));
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
    expect((await call({ body: KEY })).body).toEqual(bought.body);
    expect((await call({ headers: xPayment(second, other.quoteId) }, OTHER)).body.receipt.tx_signature).toBe(
      second,
    );
    await expectAccount(world, agent, { balance: 0n, receipts: 2 });
  });

  it("lets another account use the same key", async () => {
    const { tx, quoteId } = await pay();
    await callWith(world, agent, tx, quoteId, KEY);
    const neighbour = await world.agent({ balance: PRICE });
    const own = await world.call(neighbour, TOOL, OTHER, { body: KEY });
    expect(own.body.receipt.paid_by).toBe("balance");
    await expectAccount(world, neighbour, { balance: 0n, receipts: 1 });
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("the Idempotency-Key header", () => {
  it("treats the Idempotency-Key header as the body's key, with and without a proof", async () => {
    const { tx, quoteId } = await pay();
    const headers = xPayment(tx, quoteId);
    const alias = { "Idempotency-Key": "k" };
    const bought = await call({ headers: { ...headers, ...alias } });
    expectBought(bought, tx, quoteId);
    for (const again of [{ headers: alias }, { body: KEY }, { headers: { ...headers, ...alias }, body: KEY }])
      expect((await call(again)).body).toEqual(bought.body);
    expectMismatch(await call({ headers: alias }, OTHER));
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("refuses a header key that differs from the body's key before verifying the payment", async () => {
    const { tx, quoteId } = await pay();
    world.chain.faults.resetCallCounts();
    expectRefused(
      await call({ headers: { ...xPayment(tx, quoteId), "Idempotency-Key": "other" }, body: KEY }),
      /^idempotency_key: differs from the Idempotency-Key header; send one of them/,
      "INVALID_REQUEST",
      400,
    );
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
    expectBought(await callWith(world, agent, tx, quoteId), tx, quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });
});

describe("a call on an account with a balance", () => {
  it("uses the call's proof and leaves the balance unchanged", async () => {
    const { tx, quoteId } = await pay();
    await fund(5n * PRICE);
    expectBought(await callWith(world, agent, tx, quoteId), tx, quoteId);
    await expectAccount(world, agent, { balance: 5n * PRICE, receipts: 1 });
  });

  it("refuses a bad proof although the balance would suffice", async () => {
    const { quoteId, memo } = await offerFor(world, agent);
    await fund(5n * PRICE);
    const little = await world.pay(agent, 1n, memo);
    expectRefused(
      await callWith(world, agent, little, quoteId),
      /\$0\.000001 was sent.*credited to your balance/,
    );
    expectRefused(await callWith(world, agent, "5".repeat(87), quoteId), /not on the chain yet/);
    await expectAccount(world, agent, { balance: 5n * PRICE + 1n, receipts: 0 });
  });

  it("spends the balance to the last micro-USD, then offers a quote with both amounts", async () => {
    await fund(2n * PRICE - 1n);
    expect((await call()).body.receipt).toMatchObject({
      paid_by: "balance",
      tx_signature: null,
      quote_id: null,
      step_id: null,
    });
    const offered = await call();
    expect(offered.status).toBe(402);
    expect(offered.body).toMatchObject({
      code: "PAYMENT_REQUIRED",
      message:
        "This call costs $0.001 and the balance is $0.000999: pay the quote and repeat the call with " +
        "the proof, or deposit USDC",
    });
    await expectAccount(world, agent, { balance: PRICE - 1n, receipts: 1 });
    const tx = await world.pay(agent, 1n, `svc:${offered.body.quote.quote_id}`);
    expectRefused(await callWith(world, agent, tx, offered.body.quote.quote_id), /was sent, the price is/);
    expect((await call()).body.receipt.paid_by).toBe("balance");
    await expectAccount(world, agent, { balance: 0n, receipts: 2 });
  });
});

describe("a free call with an idempotency key", () => {
  it("stores the answer of a free call with one run and no receipt, and reserves the key", async () => {
    const echo = (message: string) => world.call(agent, "echo", { message }, { body: KEY });
    const first = await echo("a");
    expect(first.body).toEqual({ ok: true, result: { echo: "a" } });
    expect((await echo("a")).body).toEqual(first.body);
    expectMismatch(await echo("b"));
    expectMismatch(await call({ body: KEY }));
    const { body } = await world.get(agent, "/runs");
    expect(body.items).toMatchObject([
      { tool: "echo", status: "completed", spent_usdc_microusd: 0, receipt_id: null },
    ]);
    await expectAccount(world, agent, { balance: 0n, receipts: 0 });
  });

  it("returns the balance at the time of the first answer", async () => {
    const status = () => world.call(agent, "get_status", {}, { body: KEY });
    const first = await status();
    await fund(PRICE);
    expect((await status()).body).toEqual(first.body);
    expect(first.body.result.balance_usdc).toBe("0.000000");
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
  });
});

async function fund(amount: bigint): Promise<void> {
  const { accountId } = agent;
  await world.postgres.accounts.adjust({
    accountId,
    amount,
    reason: "test",
    idempotencyKey: `fund ${accountId}`,
  });
}
