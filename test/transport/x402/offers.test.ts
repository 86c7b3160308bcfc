import { expect, it } from "vitest";
import { PaymentRequiredError } from "../../../src/app/calls/call-errors.ts";
import { JwsSigner } from "../../../src/domain/payments/jws-signer.ts";
import { ANY_WALLET } from "../../../src/domain/payments/quote.ts";
import { X402_NETWORK } from "../../../src/domain/payments/x402.ts";
import { OfferReceipts } from "../../../src/transport/x402/offer-receipt.ts";
import { PaymentRequiredMessages } from "../../../src/transport/services/calls/payment-required-message.ts";
import { X402Offers } from "../../../src/transport/x402/offers.ts";

const address = "A".repeat(44);
const TERMS = {
  ...{ scheme: "exact", network: X402_NETWORK, amount: "1000", asset: address, payTo: address },
  ...{ feePayer: address, memo: `svc:qt_${"q".repeat(136)}` },
};
const HINTS = { recentBlockhash: address, lastValidBlockHeight: "300000000" };

const QUOTE = {
  ...{ quoteId: "qt_1", accountId: ANY_WALLET, price: 1_000n, issuedAt: 0, expiresAt: 300_000 },
  fingerprint: Buffer.alloc(32),
};

/** Returns the extensions of an offer, and what a client sends back, in base64. */
async function offered(baseUrl: string, schemaLength: number, exampleLength = 0) {
  const keys = [{ version: 1, secret: Buffer.alloc(32) }];
  const signer = new JwsSigner({ all: () => keys, current: () => keys[0]! });
  const offers = new X402Offers({
    payments: { x402: () => Promise.resolve([{ terms: TERMS, v1Network: "solana", hints: HINTS }]) },
    baseUrl: () => baseUrl,
    signed: new OfferReceipts({ signer, clock: { now: () => 0 }, baseUrl: () => baseUrl, cell: 0 }),
    v1: false,
  });
  const bazaar = (length: number) => ({ example: "e".repeat(exampleLength), schema: "s".repeat(length) });
  const offer = await offers.offer(new PaymentRequiredError("tool", QUOTE, "It costs"), "/x402/tool", {
    offerToken: "0".repeat(32),
    sold: {
      description: "d".repeat(256),
      tags: ["tool"],
      bazaars: [bazaar(schemaLength), bazaar(0)],
    },
    extensions: {},
  });
  const { accepts, error: _error, ...rest } = JSON.parse(JSON.stringify(offer?.paymentRequired));
  const sent = {
    ...{ ...rest, accepted: accepts[0], payload: { transaction: "A".repeat(1_644) } },
    extensions: { ...rest.extensions, "payment-identifier": { info: { id: "i".repeat(128) } } },
  };
  const { bazaar: described, "offer-receipt": signed } = rest.extensions;
  return { described, signed, length: Buffer.from(JSON.stringify(sent)).toString("base64").length };
}

it.each([
  [
    "with the schema of its parameters",
    "https://tools.example.com",
    1_000,
    0,
    { schema: expect.any(String) },
  ],
  ["without a long schema", "https://tools.example.com", 5_000, 0, { schema: "" }],
  ["without the schema under a long name", `https://${"n".repeat(250)}.example`, 1_600, 0, { schema: "" }],
  ["without its example if that is long", "https://tools.example.com", 1_000, 6_000, undefined],
])("fits into PAYMENT-SIGNATURE %s, signed", async (_title, baseUrl, schema, example, expected) => {
  const { described, signed, length } = await offered(baseUrl, schema, example);
  expect(length).toBeLessThanOrEqual(8_192);
  expect(signed).toMatchObject({ info: { offers: [{ format: "jws" }] } });
  if (expected) expect(described).toMatchObject(expected);
  else expect(described).toBeUndefined();
});

it.each([undefined, "http://127.0.0.1:8899"])("offers name the chain to pay on, here %s", async (rpcUrl) => {
  const error = new PaymentRequiredError("tool", QUOTE, "It costs");
  const payment = { payTo: address, usdcMint: address, memoPrefix: "svc", rpcUrl };
  const required = new PaymentRequiredMessages(payment, { instructions: () => [] }).message(
    error,
    "req_1",
    "prefix",
  );
  expect(required.paymentInstructions?.rpcUrl).toBe(rpcUrl);
  const offers = new X402Offers({
    payments: { x402: () => Promise.resolve([{ terms: TERMS, v1Network: "solana", hints: HINTS }]) },
    baseUrl: () => "http://gateway.test",
    signed: { offered: () => ({}) },
    v1: true,
    rpcUrl,
  });
  const offer = await offers.offer(error, "/x402/tool");
  const message =
    rpcUrl === undefined
      ? "It costs"
      : `It costs. Pay only on the local chain of ${rpcUrl}: real USDC would be lost`;
  expect(required.message).toBe(message);
  expect(offer?.paymentRequired).toMatchObject({ error: message });
  expect(offer?.v1Members).toMatchObject({ error: message });
});
