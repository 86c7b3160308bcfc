import { decodePaymentResponseHeader } from "@x402/core/http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatUsdc } from "../../src/domain/core/money.ts";
import { SLOT_MS, x402Payer, withKey, type Payload, type X402Payer } from "../interop/x402-payer.ts";
import type { Gateway } from "../../src/gateway.ts";
import { request, type Agent, type Answer } from "../support/world.ts";
import { buyer, PARAMS, pastOffer, PRICE, useScene, TOOL, type Buyer } from "./scene.ts";

const world = useScene({ GASLESS_FAILURES_HOURLY: "1000", WATCH_INTERVAL_MS: "200" }, SLOT_MS);
let by: Buyer;
let payer: X402Payer;

beforeAll(async () => {
  // A payment that the chain refuses counts as a failure; these tests send dozens.
  payer = await x402Payer(world);
});

const callWith = (paymentSignature: string, who: Agent = by.agent, params: object = PARAMS) =>
  world.call(who, TOOL, params, { headers: { "PAYMENT-SIGNATURE": paymentSignature } });

async function offered(): Promise<string> {
  const { headers } = await world.call(by.agent, TOOL, PARAMS);
  return headers.get("payment-required") ?? "";
}

const decoded = (paymentSignature: string): Payload =>
  JSON.parse(Buffer.from(paymentSignature, "base64").toString());
const encoded = (payload: object) => Buffer.from(JSON.stringify(payload)).toString("base64");

type Terms = Record<string, unknown>;

/** The offer's terms for the transaction: memo, fee payer, blockhash. */
function termsOf(paymentRequired: string): Terms {
  const [accepted] = decoded(paymentRequired)["accepts"] as Payload["accepted"][];
  if (!accepted) throw new Error("nothing is offered");
  return accepted.extra;
}

function withTermsOf(paymentRequired: string, extra: Terms): string {
  const offer = decoded(paymentRequired);
  const accepts = (offer["accepts"] as Payload["accepted"][]).map((accepted) => ({ ...accepted, extra }));
  return encoded({ ...offer, accepts });
}

/** A failed x402 payment returns a reason, and never an offer that a client would pay next. */
function expectFailed({ status, headers, body }: Answer, code: string, expectedStatus: number): void {
  expect({ status, code: body.code }, JSON.stringify(body)).toEqual({ status: expectedStatus, code });
  expect(headers.get("payment-required")).toBeNull();
  expect(body).not.toHaveProperty("quote");
  const settlement = decodePaymentResponseHeader(headers.get("payment-response") ?? "");
  expect(settlement).toMatchObject({ success: false, transaction: "", errorReason: expect.any(String) });
}

describe("a PAYMENT-SIGNATURE changed in transit", () => {
  let offer: string;
  let truth: string;
  let before: bigint;
  beforeAll(async () => {
    by = await buyer(world);
    offer = await offered();
    truth = await payer.sign(offer);
    before = await payer.usdc();
  });
  /** Failed attempts cost nothing, and the valid payment on a live blockhash buys the call once. */
  afterAll(async () => {
    expect(await payer.usdc()).toBe(before);
    await by.expectNothing();
    truth = await payer.sign(
      withTermsOf(offer, { ...termsOf(await offered()), memo: termsOf(offer)["memo"] }),
    );
    const first = await callWith(truth);
    expect(first.status, JSON.stringify(first.body)).toBe(200);
    expect((await callWith(truth)).body).toEqual(first.body);
    expect(await payer.usdc()).toBe(before - PRICE);
    await by.expectOneCall();
  });

  it("is refused when it is cut off anywhere", async () => {
    for (let length = 0; length < truth.length - 2; length += 61) {
      expectFailed(await callWith(truth.slice(0, length)), "INVALID_PAYMENT", 400);
    }
  });

  it("is refused with any letter changed in the message or the payer's signature", async () => {
    const payload = decoded(truth);
    const bytes = Buffer.from(String(payload.payload["transaction"]), "base64");
    const [ours, theirs] = [1, 65];
    for (let at = theirs; at < bytes.length; at += 11) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x04;
      const answer = await callWith(
        encoded({ ...payload, payload: { transaction: changed.toString("base64") } }),
      );
      expect([400, 402], `byte ${at}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
      expectFailed(answer, "INVALID_PAYMENT", answer.status);
    }
    for (const length of [0, ours, theirs, 128, 200, bytes.length - 1]) {
      const transaction = bytes.subarray(0, length).toString("base64");
      expectFailed(await callWith(encoded({ ...payload, payload: { transaction } })), "INVALID_PAYMENT", 400);
    }
    const longer = Buffer.concat([bytes, Buffer.alloc(1)]).toString("base64");
    expectFailed(
      await callWith(encoded({ ...payload, payload: { transaction: longer } })),
      "INVALID_PAYMENT",
      400,
    );
  });

  const stranger = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";
  it.each([
    ["scheme", { scheme: "upto" }],
    ["network", { network: "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" }],
    ["amount", { amount: "1" }],
    ["amount", { amount: String(PRICE + 1n) }],
    ["asset", { asset: stranger }],
    ["payTo", { payTo: stranger }],
    ["extra.feePayer", { extra: { feePayer: stranger } }],
    ["extra.memo", { extra: { memo: "svc:qt_2" } }],
  ])("is refused when it accepts an offer of another %s", async (name, change) => {
    const payload = decoded(truth);
    const answer = await callWith(encoded({ ...payload, accepted: { ...payload.accepted, ...change } }));
    expectFailed(answer, "INVALID_PAYMENT", 402);
    expect(answer.body.message).toContain(`PAYMENT-SIGNATURE: accepted.${name} is not what was offered`);
  });

  it("is refused and not sent for another account or another call", async () => {
    const stranger = await world.agent();
    const foreign = await callWith(truth, stranger);
    expectFailed(foreign, "INVALID_PAYMENT", 402);
    expect(foreign.body.message).toMatch(/the quote was issued to another account/);
    const other = await callWith(truth, by.agent, { model: "llama-3.1-70b" });
    expectFailed(other, "INVALID_PAYMENT", 402);
    expect(other.body.message).toMatch(/for another tool or other params/);
  });

  it("is refused with advice while the relay is off", async () => {
    const off = await world.startAnother({ FEE_PAYER_KEYPAIR: "" });
    const body = JSON.stringify({ tool: TOOL, params: PARAMS });
    const headers = { "PAYMENT-SIGNATURE": truth };
    const answer = await request(off, by.agent, "/v1/mcp/tools/call", { method: "POST", body }, headers);
    expectFailed(answer, "INVALID_PAYMENT", 400);
    expect(answer.body.message).toBe(
      "PAYMENT-SIGNATURE: the gasless relay is off: send the transaction yourself and prove it with " +
        "{tx, quote_id}",
    );
  });
});

describe("the x402 client never pays twice", () => {
  const buy = (gateway: Pick<Gateway, "baseUrl">, using: X402Payer) =>
    withKey(by.agent, using.fetch)(`${gateway.baseUrl}/v1/mcp/tools/call`, {
      method: "POST",
      body: JSON.stringify({ tool: TOOL, params: PARAMS }),
      headers: { "Content-Type": "application/json" },
    });

  it("stops with INVALID_PAYMENT when its funds are insufficient", async () => {
    by = await buyer(world);
    const poor = await x402Payer(world, 2, PRICE - 1n);
    const response = await buy(world.gateway, poor);
    const body = JSON.parse(await response.text());
    expectFailed({ status: response.status, headers: response.headers, body }, "INVALID_PAYMENT", 402);
    expect(poor.exchanges.map(({ status }) => status)).toEqual([402, 402]);
    expect(await poor.usdc()).toBe(PRICE - 1n);
    await by.expectNothing();
  });

  it("sends nothing when its quote has expired", async () => {
    by = await buyer(world);
    const before = await payer.usdc();
    const { memo } = pastOffer(world.postgres.sealingKeys, by.agent, 301);
    const offer = await offered();
    const answer = await callWith(await payer.sign(withTermsOf(offer, { ...termsOf(offer), memo })));
    expectFailed(answer, "QUOTE_EXPIRED", 402);
    expect(await payer.usdc()).toBe(before);
  });

  it("is charged once and gets no second offer when it calls three instances concurrently", async () => {
    by = await buyer(world);
    const before = await payer.usdc();
    const gateways = [world.gateway, await world.startAnother(), await world.startAnother()];
    const headers = { "PAYMENT-SIGNATURE": await payer.sign(await offered()) };
    const body = JSON.stringify({ tool: TOOL, params: PARAMS });
    const ask = (gateway: (typeof gateways)[number]) =>
      request(gateway, by.agent, "/v1/mcp/tools/call", { method: "POST", body }, headers);
    const answers = await Promise.all([...gateways, ...gateways].map(ask));
    for (const { status, body, headers } of answers) {
      expect(
        ["200 undefined", "409 REQUEST_IN_PROGRESS", "503 PAYMENT_PENDING"],
        JSON.stringify(body),
      ).toContain(`${status} ${body.code}`);
      expect(headers.get("payment-required")).toBeNull();
    }
    const settled = await Promise.all(gateways.map(ask));
    const [first] = settled;
    for (const { status, body } of settled)
      expect({ status, body }).toEqual({ status: 200, body: first?.body });
    expect(await payer.usdc()).toBe(before - PRICE);
    await by.expectOneCall();
  });

  it("is credited while its payment is pending, and the same payment buys the call", async () => {
    by = await buyer(world);
    const before = await payer.usdc();
    const patient = await world.startAnother({ FINALIZED_ABOVE_MICROUSD: "1" });
    payer.exchanges.length = 0;
    const response = await buy(patient, payer);
    const body = JSON.parse(await response.text());
    expectFailed({ status: response.status, headers: response.headers, body }, "PAYMENT_PENDING", 503);
    expect(response.headers.get("retry-after")).not.toBeNull();
    expect(decodePaymentResponseHeader(response.headers.get("payment-response") ?? "").errorReason).toBe(
      "settlement_pending",
    );
    const paymentSignature = payer.exchanges.at(-1)?.proofs.paymentSignature ?? "";
    world.chain.chain.advance(64);
    const balance = async () => (await world.call(by.agent, "get_status", {})).body.result.balance_usdc;
    await expect.poll(balance).toBe(formatUsdc(PRICE));
    const bought = await callWith(paymentSignature);
    expect(bought, JSON.stringify(bought.body)).toMatchObject({
      status: 200,
      body: { receipt: { paid_by: "gasless" } },
    });
    expect(await payer.usdc()).toBe(before - PRICE);
    await by.expectOneCall();
  });
});
