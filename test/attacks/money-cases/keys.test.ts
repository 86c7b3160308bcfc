import { beforeEach, describe, expect, it } from "vitest";
import { xPayment, type Answer } from "../../support/world.ts";
import { buyer, expectRefused, OTHER_PARAMS as OTHER, payer, PRICE, useScene, type Buyer } from "../scene.ts";

/** The call of an idempotency key before and after the payment, and the money a call takes. */
const world = useScene();
const KEY = { idempotency_key: "k" };
let by: Buyer;
let tx: string;
beforeEach(async () => {
  ({ by, tx } = await payer(world));
});

const echo = (message = "") => world.call(by.agent, "echo", { message }, { body: KEY });

function expectMismatch(answer: Answer): void {
  const used = /^idempotency_key: was used with another tool or other params; use a new key for a new call$/;
  expectRefused(answer, used, "IDEMPOTENCY_MISMATCH", 422);
}

describe("an idempotency key of a call with insufficient funds", () => {
  it("stays free after a 402, which claims nothing", async () => {
    for (const params of [undefined, OTHER])
      expect((await by.call({ body: KEY }, params)).body.code).toBe("PAYMENT_REQUIRED");
    await by.expectBought(tx, KEY);
    expectMismatch(await by.call({ body: KEY }, OTHER));
    await by.expectOneCall();
  });

  it("stays free when the payment that came with it was too small", async () => {
    const poor = await buyer(world);
    expectRefused(await poor.prove(await poor.pay(PRICE - 1n), KEY), /was sent, the price is/);
    expect((await poor.call({ body: KEY }, OTHER)).body.code).toBe("PAYMENT_REQUIRED");
    await poor.expectAccount(PRICE - 1n, 0);
  });
});

describe("an idempotency key used with other params", () => {
  it("returns 422 for a reused key and leaves the payment for a new key", async () => {
    expect((await echo()).status).toBe(200);
    expectMismatch(await by.call({ body: KEY }));
    for (const _ of [1, 2]) expectMismatch(await by.prove(tx, KEY));
    await by.expectNothing();
    await by.expectBought(tx, { idempotency_key: "new" });
    await by.expectOneCall();
  });

  it("returns 422 for a reused key after the payment, and keeps the key for its first call", async () => {
    const bought = await by.prove(tx, KEY);
    expectMismatch(await by.call({ body: KEY }, OTHER));
    expectMismatch(await echo());
    const other = await by.again(OTHER);
    const second = await other.pay();
    const headers = xPayment(second, other.quoteId);
    expectMismatch(await by.call({ body: KEY, headers }, OTHER));
    await by.expectOneCall();
    expect((await by.call({ body: KEY })).body).toEqual(bought.body);
    expect((await by.call({ headers }, OTHER)).body.receipt.tx_signature).toBe(second);
    await by.expectAccount(0n, 2);
  });

  it("lets another account use the same key", async () => {
    await by.prove(tx, KEY);
    const neighbour = await buyer(world);
    await neighbour.deposit(PRICE);
    expect((await neighbour.call({ body: KEY }, OTHER)).body.receipt.paid_by).toBe("balance");
    await neighbour.expectOneCall();
    await by.expectOneCall();
  });
});

describe("the Idempotency-Key header", () => {
  const alias = { "Idempotency-Key": "k" };

  it("treats the Idempotency-Key header as the body's key, with and without a proof", async () => {
    const headers = { ...xPayment(tx, by.quoteId), ...alias };
    const bought = await by.call({ headers });
    expect(bought.body.receipt).toMatchObject({ tx_signature: tx });
    for (const again of [{ headers: alias }, { body: KEY }, { headers, body: KEY }])
      expect((await by.call(again)).body).toEqual(bought.body);
    expectMismatch(await by.call({ headers: alias }, OTHER));
    await by.expectOneCall();
  });

  it("refuses a header key that differs from the body's key before verifying the payment", async () => {
    world.chain.faults.resetCallCounts();
    const headers = { ...xPayment(tx, by.quoteId), "Idempotency-Key": "other" };
    const differs = /^idempotency_key: differs from the Idempotency-Key header; send one of them/;
    expectRefused(await by.call({ headers, body: KEY }), differs, "INVALID_REQUEST", 400);
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
    await by.expectBought(tx);
    await by.expectOneCall();
  });
});

describe("a call on an account with a balance", () => {
  it("uses the call's proof and leaves the balance unchanged", async () => {
    await by.deposit(5n * PRICE);
    await by.expectBought(tx);
    await by.expectAccount(5n * PRICE, 1);
  });

  it("refuses a bad proof although the balance would suffice", async () => {
    const little = await by.pay(1n);
    await by.deposit(5n * PRICE);
    await by.expectRefused(little, /\$0\.000001 was sent.*credited to your balance/);
    await by.expectRefused("5".repeat(87), /not on the chain yet/);
    await by.expectAccount(5n * PRICE + 1n, 0);
  });

  it("spends the balance to the last micro-USD, then offers a quote with both amounts", async () => {
    await by.deposit(2n * PRICE - 1n);
    const unpaid = { paid_by: "balance", tx_signature: null, quote_id: null, step_id: null };
    expect((await by.call()).body.receipt).toMatchObject(unpaid);
    const { status, body } = await by.call();
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 402,
      code: "PAYMENT_REQUIRED",
      message:
        "This call costs $0.001 and the balance is $0.000999: pay the quote and repeat the call with " +
        "the proof, or deposit USDC",
    });
    await by.expectAccount(PRICE - 1n, 1);
    await by.expectRefused(await by.pay(1n), /was sent, the price is/);
    expect((await by.call()).body.receipt.paid_by).toBe("balance");
    await by.expectAccount(0n, 2);
  });
});

describe("a free call with an idempotency key", () => {
  it("stores the answer of a free call with one run and no receipt, and reserves the key", async () => {
    const first = await echo("a");
    expect(first.body).toEqual({ ok: true, result: { echo: "a" } });
    expect((await echo("a")).body).toEqual(first.body);
    expectMismatch(await echo("b"));
    expectMismatch(await by.call({ body: KEY }));
    const { body } = await world.get(by.agent, "/runs");
    const run = { tool: "echo", status: "completed", spent_usdc_microusd: 0, receipt_id: null };
    expect(body.items).toMatchObject([run]);
    await by.expectNothing();
  });

  it("returns the balance at the time of the first answer", async () => {
    const status = () => world.call(by.agent, "get_status", {}, { body: KEY });
    const first = await status();
    await by.deposit(PRICE);
    expect((await status()).body).toEqual(first.body);
    expect(first.body.result.balance_usdc).toBe("0.000000");
    await by.expectAccount(PRICE, 0);
  });
});
