import { beforeEach, describe, expect, it } from "vitest";
import { SOLANA } from "../../src/domain/payments/payment-id.ts";
import type { Answer } from "../support/world.ts";
import { buyer, expectRefused, OTHER_PARAMS, payer, PRICE, useScene, USED, type Buyer } from "./scene.ts";

const world = useScene();
let by: Buyer;
let tx: string;
beforeEach(async () => {
  ({ by, tx } = await payer(world));
});

/** One receipt in all answers that succeeded, and at least one did. */
function expectOneReceipt(answers: readonly Answer[]): void {
  const bought = answers.filter(({ status }) => status === 200);
  expect(bought.length).toBeGreaterThan(0);
  expect(new Set(bought.map(({ body }) => body.receipt.receipt_id)).size).toBe(1);
  for (const answer of answers)
    if (answer.status !== 200) expectRefused(answer, /the same call is running/, "REQUEST_IN_PROGRESS", 409);
}

describe("a charged proof", () => {
  it("returns the stored answer for any encoding of the header, and never charges again", async () => {
    const proof = { tx, quote_id: by.quoteId };
    const first = await by.expectBought(tx);
    const texts = [
      JSON.stringify(proof),
      JSON.stringify(proof, null, 2),
      ` ${JSON.stringify(proof)}\r\n`,
      JSON.stringify({ quote_id: by.quoteId, tx }),
      JSON.stringify({ tx_signature: tx, quote_id: by.quoteId }),
      JSON.stringify({ ...proof, tx_signature: tx }),
      JSON.stringify(proof).replace("tx", "\\u0074x"),
    ];
    for (const text of texts) {
      const [standard, url] = (["base64", "base64url"] as const).map((form) =>
        Buffer.from(text).toString(form),
      );
      for (const value of new Set([standard, standard?.replace(/=+$/, ""), url, `  ${url}`]))
        expect((await by.call({ headers: { "X-Payment": value ?? "" } })).body, value).toEqual(first.body);
    }
    expect((await by.claim({ tx_ref: tx, memo: by.offer.memo })).body).toEqual(first.body);
    await by.expectOneCall();
  });

  it("buys nothing under another quote of the account", async () => {
    await by.expectBought(tx);
    const second = await by.again();
    for (const idempotency_key of ["a", "b"])
      expectRefused(await second.prove(tx, { idempotency_key }), USED);
    await by.expectOneCall();
  });

  it("reveals nothing to another account, under its own quote or the payer's", async () => {
    await by.expectBought(tx);
    const thief = await buyer(world);
    for (const offer of [by.offer, thief.offer]) {
      for (const extra of [{}, { idempotency_key: "theft" }]) {
        const answer = await thief.prove(tx, extra, offer);
        expectRefused(answer, USED);
        expect(JSON.stringify(answer.body)).not.toContain("rcpt_");
      }
    }
    await thief.expectNothing();
    await by.expectOneCall();
  });

  it("does not free its idempotency key for another call", async () => {
    const key = { idempotency_key: "k" };
    await by.prove(tx, key);
    const other = await by.call({ body: key }, OTHER_PARAMS);
    expectRefused(other, /another tool or other params/, "IDEMPOTENCY_MISMATCH", 422);
    await by.expectOneCall();
  });
});

describe("one proof presented concurrently", () => {
  const many = (count: number, present: (n: number) => Promise<Answer>) =>
    Promise.all(Array.from({ length: count }, (_, n) => present(n)));

  it("is charged once without keys", async () => {
    expectOneReceipt(await many(24, () => by.prove(tx)));
    await by.expectOneCall();
  });

  it("is charged once under different keys, and every key returns the same answer", async () => {
    const key = (n: number) => ({ idempotency_key: `k${n}` });
    expectOneReceipt(await many(24, (n) => by.prove(tx, key(n))));
    const again = await many(24, (n) => by.prove(tx, key(n)));
    expect(new Set(again.map(({ status }) => status))).toEqual(new Set([200]));
    expectOneReceipt(again);
    for (const { body } of await many(24, (n) => by.call({ body: key(n) })))
      expect(body).toEqual(again[0]?.body);
    await by.expectOneCall();
  });

  it("is charged once in header and body, with and without keys, to its account only", async () => {
    const thieves = await Promise.all([1, 2, 3].map(() => buyer(world)));
    const [answers, stolen] = await Promise.all([
      many(18, (n) =>
        n % 3 === 0
          ? by.claim({ tx_ref: tx, memo: by.offer.memo, amount_usdc: "0.001" })
          : by.prove(tx, n % 3 === 1 ? {} : { idempotency_key: `k${n % 2}` }),
      ),
      Promise.all(
        thieves.flatMap((thief) => [by.offer, thief.offer].map((offer) => thief.prove(tx, {}, offer))),
      ),
    ]);
    expectOneReceipt(answers);
    for (const answer of stolen)
      expectRefused(answer, /issued to another account|names another quote|used for another call/);
    for (const thief of thieves) await thief.expectNothing();
    await by.expectOneCall();
  });

  it("is charged once when it arrives before the transaction is confirmed", async () => {
    const next = await buyer(world);
    world.chain.faults.add({ method: "getTransaction", fault: { kind: "null" }, calls: 8 });
    const early = await next.pay();
    const answers = await many(8, () => next.prove(early));
    world.chain.faults.clear();
    expectOneReceipt(answers);
    await next.expectOneCall();
  });
});

/** Credits the payment as a watcher would. */
function creditFirst(): Promise<{ credited: boolean }> {
  const { accountId, wallet } = by.agent;
  return world.postgres.ledger.credit(accountId, {
    network: SOLANA,
    reference: tx,
    amount: PRICE,
    quoteId: by.quoteId,
    payer: wallet.publicKey.toBase58(),
    slot: BigInt(world.chain.chain.slots.current),
    blockTime: new Date(),
    finalized: true,
    paidBy: "transfer",
  });
}

describe("a payment credited before its proof arrives", () => {
  it("lets a credited payment buy its call, credited and charged once", async () => {
    await creditFirst();
    await by.expectAccount(PRICE, 0);
    for (const _ of [1, 2]) await by.expectBought(tx);
    expect(await creditFirst()).toMatchObject({ credited: false });
    await by.expectOneCall();
  });

  it("charges once when the watch and many callers present a payment concurrently", async () => {
    const bodies = Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? {} : { idempotency_key: `k${n}` }));
    const calls = Promise.all(bodies.map((body) => by.prove(tx, body)));
    const [answers] = await Promise.all([calls, creditFirst(), creditFirst()]);
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    for (const { status } of answers) expect([200, 409]).toContain(status);
    await by.expectBought(tx);
    await by.expectOneCall();
  });

  it("refuses the proof of a credited payment once the balance is spent, until there is money again", async () => {
    await creditFirst();
    expect((await by.call()).body.receipt.paid_by).toBe("balance");
    const spent =
      /was credited to your balance, but other calls .* have used it: the balance is \$0\.00 and this call costs \$0\.001\. Repeat the call without a proof/;
    for (const _ of [1, 2]) await by.expectRefused(tx, spent);
    await by.expectOneCall();
    const next = await by.again();
    await next.expectBought(await next.pay());
    await by.deposit(PRICE);
    await by.expectBought(tx);
    await by.expectAccount(0n, 3);
  });

  it("refuses another account's credited payment", async () => {
    await creditFirst();
    const thief = await buyer(world);
    await thief.expectRefused(tx, /used|another quote|another account/);
    expect((await thief.prove(tx, {}, by.offer)).body.message).toMatch(/used|another quote|another account/);
    await thief.expectNothing();
    await by.expectAccount(PRICE, 0);
  });

  it("keeps a credited payment on the balance when another transaction paid its quote", async () => {
    await creditFirst();
    await by.expectBought(await by.pay(PRICE, by.memo()));
    for (const _ of [1, 2]) await by.expectRefused(tx, /paid before by another transaction/);
    await by.expectAccount(PRICE, 1);
  });
});
