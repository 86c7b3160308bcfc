import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { xPayment } from "../support/world.ts";
import { buyer, expectBought, expectRefused, useScene, type Buyer } from "./scene.ts";

const world = useScene();
let by: Buyer;
/** Pays the quote exactly, with the long memo. */
let tx: string;
let memo: string;
let quote: { tx_ref: string; quote_id: string };
beforeEach(async () => {
  by = await buyer(world);
  memo = by.memo("n1");
  tx = await by.pay(undefined, memo);
  quote = { tx_ref: tx, quote_id: by.quoteId };
});
/** False claims consume nothing: the true proof buys the call once. */
afterEach(async () => {
  await by.expectNothing();
  const truth = { ...quote, amount_usdc: "0.001", memo, step_id: by.offer.stepId };
  expectBought(await by.claim(truth), tx, by.quoteId);
  await by.expectBought(tx);
  await by.expectOneCall();
});

describe("a body proof that contradicts the chain", () => {
  it.each(["0.002", "0.000999", "0", "1000", "0.001001"])(
    "refuses a body proof with an amount of %s",
    async (amount_usdc) =>
      expectRefused(
        await by.claim({ ...quote, amount_usdc }),
        /payment_proof\.amount_usdc is not the amount on the chain; nothing was consumed/,
      ),
  );

  it("refuses a body proof whose memo has another nonce or the other form", async () => {
    const differs = /payment_proof\.memo is not the memo on the chain; nothing was consumed/;
    for (const other of [by.memo("n2"), by.offer.memo])
      expectRefused(await by.claim({ tx_ref: tx, memo: other }), differs);
  });

  it("refuses a body proof with the step of another quote, before any lookup", async () => {
    const { stepId } = (await by.again()).offer;
    world.chain.faults.resetCallCounts();
    for (const proof of [{ step_id: stepId }, { memo: `${stepId}:${by.quoteId}:n1` }])
      expectRefused(await by.claim({ ...quote, ...proof }), /step_id does not belong to the quote/);
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
  });
});

describe("a contradictory or malformed body proof", () => {
  const proofs: [string, RegExp, () => Record<string, unknown>][] = [
    ["another network", /network: must be solana-mainnet/, () => ({ ...quote, network: "solana-devnet" })],
    ["an amount in scientific notation", /amount_usdc: /, () => ({ ...quote, amount_usdc: "1e-3" })],
    ["a negative amount", /amount_usdc: /, () => ({ ...quote, amount_usdc: "-0.001" })],
    ["an amount of seven places", /amount_usdc: /, () => ({ ...quote, amount_usdc: "0.0010000" })],
    ["a memo that is none of ours", /memo: must be/, () => ({ ...quote, memo: `asg:${by.quoteId}` })],
    ["no quote at all", /quote_id: is missing/, () => ({ tx_ref: tx })],
    [
      "another quote than the memo's",
      /memo: names another quote/,
      () => ({ memo, ...quote, quote_id: `${by.quoteId}1` }),
    ],
    [
      "another step than the memo's",
      /memo: names another step/,
      () => ({ tx_ref: tx, memo, step_id: `step_${"0".repeat(32)}` }),
    ],
    ["a signature with a space", /tx_ref: /, () => ({ ...quote, tx_ref: `${tx} ` })],
    ["a signature with a leading zero byte", /tx_ref: /, () => ({ ...quote, tx_ref: `1${tx}` })],
    ["a signature cut short", /tx_ref: /, () => ({ ...quote, tx_ref: tx.slice(0, -2) })],
  ];
  it.each(proofs)("refuses a body proof before any lookup: %s", async (_name, { source }, proof) => {
    world.chain.faults.resetCallCounts();
    const message = new RegExp(`^payment_proof\\.${source}`);
    expectRefused(await by.claim(proof()), message, "INVALID_PAYMENT", 400);
    expect(world.chain.faults.callCount("getTransaction")).toBe(0);
  });

  it("ignores body proof fields of the wrong type", async () => {
    for (const wrong of [
      { amount_usdc: 0.001 },
      { tx_ref: 5 },
      { quote_id: [by.quoteId] },
      { memo: { text: memo } },
    ])
      expectRefused(await by.claim({ ...quote, ...wrong }), /^payment_proof\./, "INVALID_REQUEST", 400);
  });
});

describe("a proof in the header and one in the body", () => {
  const both = (proof: object, headers = xPayment(tx, by.quoteId)) =>
    by.call({ headers, body: { payment_proof: { ...quote, network: "solana-mainnet", ...proof } } });

  it("refuses header and body proofs that name different payments or quotes", async () => {
    const differ = /X-Payment and payment_proof name different payments; send one of them/;
    for (const proof of [{ tx_ref: "5".repeat(87) }, { quote_id: (await by.again()).quoteId }])
      expectRefused(await both(proof), differ, "INVALID_PAYMENT", 400);
  });

  it("accepts header and body proofs that agree", async () => {
    expectRefused(await both({ amount_usdc: "0.002" }), /amount_usdc is not the amount on the chain/);
    const unreadable = await both({}, { "X-Payment": "e30" });
    expectRefused(unreadable, /^X-Payment: tx is missing/, "INVALID_PAYMENT", 400);
  });
});

it("refuses an X-Payment header with anything around or beside the proof", async () => {
  const proof = { tx, quote_id: by.quoteId };
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
  for (const [value, message] of [
    [`${encode(proof)}, ${encode(proof)}`, /not base64/],
    [`Bearer ${encode(proof)}`, /not base64/],
    [encode([proof]), /does not decode to a JSON object/],
    [encode(JSON.stringify(proof)), /does not decode to a JSON object/],
    [encode({ ...proof, account_id: by.agent.accountId }), /unknown member "account_id"/],
    [encode({ ...proof, tx_signature: "5".repeat(87) }), /tx and tx_signature differ/],
    [encode({ ...proof, quote_id: "" }), /quote_id must be a non-empty string/],
    [encode({ ...proof, tx: [tx] }), /tx must be a non-empty string/],
    [encode({ x402Version: 1, ...proof }), /x402/],
    ["A".repeat(8_193), /longer than 8192/],
  ] as const)
    expectRefused(await by.call({ headers: { "X-Payment": value } }), message, "INVALID_PAYMENT", 400);
});
