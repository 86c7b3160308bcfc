import { base58 } from "@scure/base";
import { describe, it } from "vitest";
import { memo, MEMO_V1, reportOnce, transfer } from "./instructions.ts";
import { buyer, expectRefused, OTHER_PARAMS, payer, PRICE, USED, useScene, type Buyer } from "./scene.ts";

const world = useScene();

const payWith = (by: Buyer, ...memos: ReturnType<typeof memo>[]) =>
  by.send([...memos, transfer(world, by.agent, PRICE)]);

describe("a memo in our format", () => {
  it.each<[string, (by: Buyer) => string]>([
    ["the short form", ({ offer }) => offer.memo],
    ["the long form", (by) => by.memo("n0nce")],
    ["the long form with a nonce of 128 characters", (by) => by.memo("~".repeat(128))],
  ])("accepts a memo in %s, from both Memo programs, beside other memos", async (_name, write) => {
    for (const program of [undefined, MEMO_V1]) {
      const by = await buyer(world);
      await by.expectBought(
        await payWith(by, memo("gm"), memo(write(by), program), memo(`asg:${by.quoteId}`)),
      );
      await by.expectOneCall();
    }
  });
});

describe("a payment without a valid memo", () => {
  const notOurs =
    /no memo of the transaction has our form; one must say exactly <step_id>:<quote_id>:<nonce> or svc:\{quote_id\}/;
  const noMemo = /the transaction has no memo; add one top-level Memo instruction/;

  it.each<[string, (by: Buyer) => string]>([
    ["another service's prefix", ({ quoteId }) => `asg:${quoteId}`],
    ["an upper-case prefix", ({ quoteId }) => `SVC:${quoteId}`],
    ["no prefix", ({ quoteId }) => quoteId],
    ["a space before", ({ offer }) => ` ${offer.memo}`],
    ["a line feed after", ({ offer }) => `${offer.memo}\n`],
    ["a byte order mark before", ({ offer }) => `\uFEFF${offer.memo}`],
    ["a zero-width space inside", ({ offer }) => offer.memo.replace("svc:", "svc:\u200B")],
    ["a Cyrillic letter that looks like a Latin one", ({ offer }) => offer.memo.replace("svc", "sv\u0441")],
    ["a third part after the short form", ({ offer }) => `${offer.memo}:1`],
    ["a fourth part after the long form", (by) => by.memo("1:2")],
    ["an empty nonce", (by) => by.memo("")],
    ["a nonce of 129 characters", (by) => by.memo("n".repeat(129))],
    ["JSON around it", ({ offer }) => JSON.stringify({ memo: offer.memo })],
    ["nothing in it", () => ""],
  ])("refuses a memo: %s", async (_name, write) => {
    const by = await buyer(world);
    await by.expectRefused(await payWith(by, memo(write(by))), notOurs);
    await by.expectNothing();
  });

  it("refuses a payment without a memo", async () => {
    const by = await buyer(world);
    await by.expectRefused(await payWith(by), noMemo);
    await by.expectNothing();
  });

  it("refuses a memo with a quote that was never issued", async () => {
    const by = await buyer(world);
    const tx = await payWith(by, memo(`svc:qt_${base58.encode(Buffer.alloc(97, 7))}`));
    await by.expectRefused(tx, /names no quote of this gateway; the operator can assign the transfer/);
    await by.expectNothing();
  });

  it("fails on the chain when the memo is not UTF-8", async () => {
    for (const program of [undefined, MEMO_V1]) {
      const by = await buyer(world);
      const bytes = Buffer.concat([Buffer.from(by.offer.memo), Buffer.of(0xff)]);
      await by.expectRefused(await payWith(by, memo(bytes, program)), /failed on the chain/);
      await by.expectNothing();
    }
  });

  // The Memo programs validate their text, so a lying endpoint reports these two.
  it("ignores memos of inner instructions, which the payer may not have seen", async () => {
    const by = await buyer(world);
    const tx = await payWith(by, memo(by.offer.memo));
    await reportOnce(world, tx, ({ transaction: { message }, meta }) => {
      const [written] = message.instructions.splice(0, 1);
      meta.innerInstructions = [{ index: 0, instructions: [written] }];
    });
    await by.expectRefused(tx, noMemo);
    await by.expectNothing();
  });

  it("ignores a memo that is not UTF-8", async () => {
    const by = await buyer(world);
    const tx = await payWith(by, memo(by.offer.memo));
    await reportOnce(world, tx, ({ transaction: { message } }) => {
      const [written] = message.instructions;
      if (written) written.data = base58.encode(Buffer.concat([Buffer.from(by.offer.memo), Buffer.of(0xc3)]));
    });
    await by.expectRefused(tx, /no memo of the transaction has our form/);
    await by.expectNothing();
  });
});

describe("two memos in our format in one transaction", () => {
  it("refuses two memos, so that one payment cannot pay two quotes", async () => {
    const by = await buyer(world);
    const second = await by.again(OTHER_PARAMS);
    const tx = await payWith(by, memo(by.offer.memo), memo(second.offer.memo));
    const payment_proof = { tx_ref: tx, network: "solana-mainnet" };
    for (const [{ quoteId }, params] of [[by], [second, OTHER_PARAMS]] as const)
      expectRefused(
        await by.call({ body: { payment_proof: { ...payment_proof, quote_id: quoteId } } }, params),
        /more than one memo of ours, and one transaction pays one quote/,
      );
    await by.expectNothing();
  });

  it("refuses two memos that name the same quote, in any form", async () => {
    const by = await buyer(world);
    const tx = await payWith(by, memo(by.offer.memo, MEMO_V1), memo(by.memo()));
    await by.expectRefused(tx, /more than one memo of ours/);
    await by.expectNothing();
  });
});

describe("a memo that contradicts the proof", () => {
  const another = /the memo on the chain names another quote.*nothing was consumed/;

  it("refuses a memo with another quote of the account, which stays payable", async () => {
    const { by, tx } = await payer(world);
    const other = await by.again();
    for (const _ of [1, 2]) await other.expectRefused(tx, another);
    await by.expectNothing();
    await by.expectBought(tx);
    await by.expectOneCall();
  });

  it("refuses a memo with another account's quote, which stays payable for that account", async () => {
    const { by: owner, tx } = await payer(world);
    const thief = await buyer(world);
    for (const idempotency_key of ["a", "b"])
      expectRefused(await thief.prove(tx, { idempotency_key }), another);
    await thief.expectNothing();
    await owner.expectNothing();
    await owner.expectBought(tx);
    await owner.expectOneCall();
    await thief.expectRefused(tx, USED);
    await thief.expectNothing();
  });

  it("refuses a memo with the step of another quote, and credits it once", async () => {
    const by = await buyer(world);
    const { stepId } = (await by.again()).offer;
    const tx = await by.pay(PRICE, `${stepId}:${by.quoteId}:1`);
    await by.expectRefused(tx, /the memo on the chain names another step; \$0\.001 was credited/);
    const again = await by.claim({ tx_ref: tx, quote_id: by.quoteId });
    expectRefused(again, /names another step; .* had been credited to your balance before/);
    await by.expectAccount(PRICE, 0);
  });
});
