import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { xPayment, type Agent, type World } from "../support/world.ts";
import {
  callWith,
  callWithBody,
  expectAccount,
  expectBought,
  expectNothing,
  expectRefused,
  offerFor,
  PARAMS,
  PRICE,
  startScene,
  TOOL,
  type Offer,
} from "./scene.ts";

let world: World;
let agent: Agent;
let offer: Offer;
/** Pays `offer` exactly, with the long memo. */
let tx: string;
let memo: string;
beforeAll(async () => {
  world = await startScene();
});
beforeEach(async () => {
  agent = await world.agent();
  offer = await offerFor(world, agent);
  memo = `${offer.stepId}:${offer.quoteId}:n1`;
  tx = await world.pay(agent, PRICE, memo);
});
/** False claims consume nothing: the true proof buys the call once. */
afterEach(async () => {
  await expectNothing(world, agent);
  const truth = { tx_ref: tx, amount_usdc: "0.001", memo, quote_id: offer.quoteId, step_id: offer.stepId };
  expectBought(await callWithBody(world, agent, truth), tx, offer.quoteId);
  expectBought(await callWith(world, agent, tx, offer.quoteId), tx, offer.quoteId);
  await expectAccount(world, agent, { balance: 0n, receipts: 1 });
  expect(await world.violations()).toEqual([]);
});
afterAll(() => world.close());

describe("a body proof that contradicts the chain", () => {
  it.each(["0.002", "0.000999", "0", "1000", "0.001001"])(
    "refuses a body proof with an amount of %s",
    async (amount) => {
      const answer = await callWithBody(world, agent, {
        tx_ref: tx,
        quote_id: offer.quoteId,
        amount_usdc: amount,
      });
      expectRefused(
        answer,
        /payment_proof\.amount_usdc is not the amount on the chain; nothing was consumed/,
      );
    },
  );

  it("refuses a body proof whose memo has another nonce or the other form", async () => {
    for (const other of [`${offer.stepId}:${offer.quoteId}:n2`, offer.memo]) {
      const answer = await callWithBody(world, agent, { tx_ref: tx, memo: other });
      expectRefused(answer, /payment_proof\.memo is not the memo on the chain; nothing was consumed/);
    }
  });

  it("refuses a body proof with the step of another quote", async () => {
    const { stepId } = await offerFor(world, agent);
    expectRefused(
      await callWithBody(world, agent, { tx_ref: tx, quote_id: offer.quoteId, step_id: stepId }),
      /step_id does not belong to the quote/,
    );
    const answer = await callWithBody(world, agent, {
      tx_ref: tx,
      quote_id: offer.quoteId,
      memo: `${stepId}:${offer.quoteId}:n1`,
    });
    expectRefused(answer, /step_id does not belong to the quote/);
  });
});

describe("a contradictory or malformed body proof", () => {
  const proofs: [string, () => Record<string, unknown>, RegExp][] = [
    [
      "another network",
      () => ({ tx_ref: tx, quote_id: offer.quoteId, network: "solana-devnet" }),
      /^payment_proof\.network: must be solana-mainnet/,
    ],
    [
      "an amount in scientific notation",
      () => ({ tx_ref: tx, quote_id: offer.quoteId, amount_usdc: "1e-3" }),
      /^payment_proof\.amount_usdc: /,
    ],
    [
      "a negative amount",
      () => ({ tx_ref: tx, quote_id: offer.quoteId, amount_usdc: "-0.001" }),
      /^payment_proof\.amount_usdc: /,
    ],
    [
      "an amount of seven places",
      () => ({ tx_ref: tx, quote_id: offer.quoteId, amount_usdc: "0.0010000" }),
      /^payment_proof\.amount_usdc: /,
    ],
    [
      "a memo that is none of ours",
      () => ({ tx_ref: tx, quote_id: offer.quoteId, memo: `asg:${offer.quoteId}` }),
      /^payment_proof\.memo: must be/,
    ],
    ["no quote at all", () => ({ tx_ref: tx }), /^payment_proof\.quote_id: is missing/],
    [
      "a memo of one quote and the identifier of another",
      () => ({ tx_ref: tx, memo, quote_id: `${offer.quoteId}1` }),
      /^payment_proof\.memo: names another quote/,
    ],
    [
      "a memo of one step and the identifier of another",
      () => ({ tx_ref: tx, memo, step_id: `step_${"0".repeat(32)}` }),
      /^payment_proof\.memo: names another step/,
    ],
    [
      "a signature with a space",
      () => ({ tx_ref: `${tx} `, quote_id: offer.quoteId }),
      /^payment_proof\.tx_ref: /,
    ],
    [
      "a signature with a leading zero byte",
      () => ({ tx_ref: `1${tx}`, quote_id: offer.quoteId }),
      /^payment_proof\.tx_ref: /,
    ],
    [
      "a signature cut short",
      () => ({ tx_ref: tx.slice(0, -2), quote_id: offer.quoteId }),
      /^payment_proof\.tx_ref: /,
    ],
  ];
  it.each(proofs)("refuses a body proof before any lookup: %s", async (_name, proof, message) => {
    world.chain.faults.resetCallCounts();
    expectRefused(await callWithBody(world, agent, proof()), message, "INVALID_PAYMENT", 400);
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
  });

  it("ignores body proof fields of the wrong type", async () => {
    for (const wrong of [
      { amount_usdc: 0.001 },
      { tx_ref: 5 },
      { quote_id: [offer.quoteId] },
      { memo: { text: memo } },
    ]) {
      const answer = await callWithBody(world, agent, { tx_ref: tx, quote_id: offer.quoteId, ...wrong });
      expectRefused(answer, /^payment_proof\./, "INVALID_REQUEST", 400);
    }
  });
});

describe("a proof in the header and one in the body", () => {
  it("refuses header and body proofs that name different payments or quotes", async () => {
    const other = await offerFor(world, agent);
    const headers = xPayment(tx, offer.quoteId);
    for (const proof of [
      { tx_ref: "5".repeat(87), quote_id: offer.quoteId },
      { tx_ref: tx, quote_id: other.quoteId },
    ]) {
      const answer = await world.call(agent, TOOL, PARAMS, {
        headers,
        body: { payment_proof: { network: "solana-mainnet", ...proof } },
      });
      expectRefused(
        answer,
        /X-Payment and payment_proof name different payments; send one of them/,
        "INVALID_PAYMENT",
        400,
      );
    }
  });

  it("accepts header and body proofs that agree", async () => {
    const headers = xPayment(tx, offer.quoteId);
    const proof = { network: "solana-mainnet", tx_ref: tx, quote_id: offer.quoteId };
    const wrong = await world.call(agent, TOOL, PARAMS, {
      headers,
      body: { payment_proof: { ...proof, amount_usdc: "0.002" } },
    });
    expectRefused(wrong, /amount_usdc is not the amount on the chain/);
    const unreadable = await world.call(agent, TOOL, PARAMS, {
      headers: { "X-Payment": "e30" },
      body: { payment_proof: proof },
    });
    expectRefused(unreadable, /^X-Payment: tx is missing/, "INVALID_PAYMENT", 400);
  });
});

describe("the X-Payment header", () => {
  const encode = (value: unknown, alphabet: "base64" | "base64url" = "base64url") =>
    Buffer.from(JSON.stringify(value)).toString(alphabet);
  const expectUnreadable = async (value: string, message: RegExp) => {
    const answer = await world.call(agent, TOOL, PARAMS, { headers: { "X-Payment": value } });
    expectRefused(answer, message, "INVALID_PAYMENT", 400);
  };

  it("refuses an X-Payment header with anything around or beside the proof", async () => {
    const proof = { tx, quote_id: offer.quoteId };
    await expectUnreadable(`${encode(proof)}, ${encode(proof)}`, /not base64/);
    await expectUnreadable(`Bearer ${encode(proof)}`, /not base64/);
    await expectUnreadable(encode([proof]), /does not decode to a JSON object/);
    await expectUnreadable(encode(JSON.stringify(proof)), /does not decode to a JSON object/);
    await expectUnreadable(encode({ ...proof, account_id: agent.accountId }), /unknown member "account_id"/);
    await expectUnreadable(encode({ ...proof, tx_signature: "5".repeat(87) }), /tx and tx_signature differ/);
    await expectUnreadable(encode({ ...proof, quote_id: "" }), /quote_id must be a non-empty string/);
    await expectUnreadable(encode({ ...proof, tx: [tx] }), /tx must be a non-empty string/);
    await expectUnreadable(encode({ x402Version: 1, ...proof }), /x402/);
    await expectUnreadable("A".repeat(8_193), /longer than 8192/);
  });
});
