import { base58 } from "@scure/base";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { rpc } from "../localchain/paying.ts";
import type { Agent, World } from "../support/world.ts";
import { memo, MEMO_V1, transfer } from "./instructions.ts";
import {
  callWith,
  callWithBody,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  offerFor,
  PRICE,
  startScene,
  USED,
  type Offer,
} from "./scene.ts";

let world: World;
beforeAll(async () => {
  world = await startScene();
});
afterEach(async () => {
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

async function quoted(): Promise<{ agent: Agent; offer: Offer }> {
  const agent = await world.agent();
  return { agent, offer: await offerFor(world, agent) };
}

/** Pays the exact price with these memos. */
const payWith = (agent: Agent, ...memos: ReturnType<typeof memo>[]) =>
  world.send(agent, [...memos, transfer(world, agent, PRICE)]);

describe("a memo in our format", () => {
  const forms: [string, (offer: Offer) => string][] = [
    ["the short form", ({ quoteId }) => `svc:${quoteId}`],
    ["the long form", ({ quoteId, stepId }) => `${stepId}:${quoteId}:n0nce`],
    [
      "the long form with a nonce of 128 characters",
      ({ quoteId, stepId }) => `${stepId}:${quoteId}:${"~".repeat(128)}`,
    ],
  ];
  it.each(forms)(
    "accepts a memo in %s, from both Memo programs, beside other memos",
    async (_name, write) => {
      for (const program of [undefined, MEMO_V1]) {
        const { agent, offer } = await quoted();
        const tx = await payWith(
          agent,
          memo("gm"),
          memo(write(offer), program),
          memo(`asg:${offer.quoteId}`),
        );
        expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
        await expectAccount(world, agent, { balance: 0n, receipts: 1 });
      }
    },
  );
});

describe("a payment without a valid memo", () => {
  const notOurs =
    /no memo of the transaction has our form; one must say exactly <step_id>:<quote_id>:<nonce> or svc:\{quote_id\}/;
  const memos: [string, (offer: Offer) => string][] = [
    ["another service's prefix", ({ quoteId }) => `asg:${quoteId}`],
    ["an upper-case prefix", ({ quoteId }) => `SVC:${quoteId}`],
    ["no prefix", ({ quoteId }) => quoteId],
    ["a space before", ({ memo: text }) => ` ${text}`],
    ["a line feed after", ({ memo: text }) => `${text}\n`],
    ["a byte order mark before", ({ memo: text }) => `\uFEFF${text}`],
    ["a zero-width space inside", ({ memo: text }) => text.replace("svc:", "svc:\u200B")],
    ["a Cyrillic letter that looks like a Latin one", ({ memo: text }) => text.replace("svc", "sv\u0441")],
    ["a third part after the short form", ({ memo: text }) => `${text}:1`],
    ["a fourth part after the long form", ({ quoteId, stepId }) => `${stepId}:${quoteId}:1:2`],
    ["an empty nonce", ({ quoteId, stepId }) => `${stepId}:${quoteId}:`],
    ["a nonce of 129 characters", ({ quoteId, stepId }) => `${stepId}:${quoteId}:${"n".repeat(129)}`],
    ["JSON around it", ({ memo: text }) => JSON.stringify({ memo: text })],
    ["nothing in it", () => ""],
  ];
  it.each(memos)("refuses a memo: %s", async (_name, write) => {
    const { agent, offer } = await quoted();
    const tx = await payWith(agent, memo(write(offer)));
    expectRefused(await callWith(world, agent, tx, offer.quoteId), notOurs);
    await expectNothing(world, agent);
  });

  it("refuses a payment without a memo", async () => {
    const { agent, offer } = await quoted();
    const tx = await payWith(agent);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /the transaction has no memo; add one top-level Memo instruction/,
    );
    await expectNothing(world, agent);
  });

  it("refuses a memo with a quote that was never issued", async () => {
    const { agent, offer } = await quoted();
    const tx = await payWith(agent, memo(`svc:qt_${base58.encode(Buffer.alloc(97, 7))}`));
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /names no quote of this gateway; the operator can assign the transfer/,
    );
    await expectNothing(world, agent);
  });

  it("fails on the chain when the memo is not UTF-8", async () => {
    for (const program of [undefined, MEMO_V1]) {
      const { agent, offer } = await quoted();
      const tx = await payWith(
        agent,
        memo(Buffer.concat([Buffer.from(offer.memo), Buffer.of(0xff)]), program),
      );
      expectRefused(await callWith(world, agent, tx, offer.quoteId), /failed on the chain/);
      await expectNothing(world, agent);
    }
  });
});

describe("two memos in our format in one transaction", () => {
  it("refuses two memos, so that one payment cannot pay two quotes", async () => {
    const { agent, offer } = await quoted();
    const second = await offerFor(world, agent, { model: "llama-3.1-70b" });
    const tx = await payWith(agent, memo(offer.memo), memo(second.memo));
    for (const { quoteId } of [offer, second]) {
      const params = quoteId === offer.quoteId ? undefined : { model: "llama-3.1-70b" };
      const answer = await world.call(agent, "vram_estimate", params ?? { model: "llama-3.1-8b" }, {
        body: { payment_proof: { tx_ref: tx, network: "solana-mainnet", quote_id: quoteId } },
      });
      expectRefused(answer, /more than one memo of ours, and one transaction pays one quote/);
    }
    await expectNothing(world, agent);
  });

  it("refuses two memos that name the same quote, in any form", async () => {
    const { agent, offer } = await quoted();
    const tx = await payWith(agent, memo(offer.memo, MEMO_V1), memo(`${offer.stepId}:${offer.quoteId}:1`));
    expectRefused(await callWith(world, agent, tx, offer.quoteId), /more than one memo of ours/);
    await expectNothing(world, agent);
  });
});

/** The Memo programs validate their text, so a lying endpoint reports these two. */
describe("a memo that only a faulty chain could return", () => {
  interface ChainAnswer {
    transaction: {
      message: { accountKeys: string[]; instructions: { programIdIndex: number; data: string }[] };
    };
    meta: { innerInstructions: unknown[] };
  }

  async function reported(tx: string, change: (reported: ChainAnswer) => void): Promise<void> {
    const result = (await rpc(world.chain, "getTransaction", tx, {
      encoding: "json",
      commitment: "confirmed",
      maxSupportedTransactionVersion: 1,
    })) as ChainAnswer;
    change(result);
    world.chain.faults.add({
      method: "getTransaction",
      fault: { kind: "result", result: result as never },
      calls: 1,
    });
  }

  it("ignores memos of inner instructions, which the payer may not have seen", async () => {
    const { agent, offer } = await quoted();
    const tx = await payWith(agent, memo(offer.memo));
    await reported(tx, ({ transaction: { message }, meta }) => {
      const [written] = message.instructions.splice(0, 1);
      meta.innerInstructions = [{ index: 0, instructions: [written] }];
    });
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /the transaction has no memo; add one top-level Memo instruction/,
    );
    await expectNothing(world, agent);
  });

  it("ignores a memo that is not UTF-8", async () => {
    const { agent, offer } = await quoted();
    const tx = await payWith(agent, memo(offer.memo));
    await reported(tx, ({ transaction: { message } }) => {
      const [written] = message.instructions;
      if (written) written.data = base58.encode(Buffer.concat([Buffer.from(offer.memo), Buffer.of(0xc3)]));
    });
    expectRefused(await callWith(world, agent, tx, offer.quoteId), /no memo of the transaction has our form/);
    await expectNothing(world, agent);
  });
});

describe("a memo that contradicts the proof", () => {
  it("refuses a memo with another quote of the account, which stays payable", async () => {
    const { agent, offer } = await quoted();
    const other = await offerFor(world, agent);
    const tx = await world.pay(agent, PRICE, offer.memo);
    for (const _ of [1, 2]) {
      expectRefused(
        await callWith(world, agent, tx, other.quoteId),
        /the memo on the chain names another quote.*nothing was consumed/,
      );
    }
    await expectNothing(world, agent);
    expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  });

  it("refuses a memo with another account's quote, which stays payable for that account", async () => {
    const { agent: owner, offer } = await quoted();
    const { agent: thief, offer: own } = await quoted();
    const tx = await world.pay(owner, PRICE, offer.memo);
    for (const key of ["a", "b"]) {
      const answer = await callWith(world, thief, tx, own.quoteId, { idempotency_key: key });
      expectRefused(answer, /the memo on the chain names another quote.*nothing was consumed/);
    }
    await expectNothing(world, thief);
    await expectNothing(world, owner);
    expectBought(await callWith(world, owner, tx, offer.quoteId), tx, offer.quoteId);
    await expectAccount(world, owner, { balance: 0n, receipts: 1 });
    expectRefused(await callWith(world, thief, tx, own.quoteId), USED);
    await expectNothing(world, thief);
  });

  it("refuses a memo with the step of another quote, and credits it once", async () => {
    const { agent, offer } = await quoted();
    const other = await offerFor(world, agent);
    const tx = await world.pay(agent, PRICE, `${other.stepId}:${offer.quoteId}:1`);
    expectRefused(
      await callWith(world, agent, tx, offer.quoteId),
      /the memo on the chain names another step; \$0\.001 was credited/,
    );
    const again = await callWithBody(world, agent, { tx_ref: tx, quote_id: offer.quoteId });
    expectRefused(again, /names another step; .* had been credited to your balance before/);
    await expectAccount(world, agent, { balance: PRICE, receipts: 0 });
  });
});
