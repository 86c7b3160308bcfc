import { describe, expect, it } from "vitest";
import { PaymentRequiredError } from "../../../../src/app/calls/payment-required-error.ts";
import { stepIdOf } from "../../../../src/domain/payments/quote.ts";
import { PaymentRequiredMessages } from "../../../../src/transport/services/calls/payment-required-message.ts";
import { PaymentMethods } from "../../../../src/app/payments/payment-methods.ts";
import { paymentMethods } from "../../../../src/gateway/payment-methods.ts";
import { unusedPaymentPorts } from "../../../app/payments/payment-ports.ts";
import { PAYMENT } from "../../gateway.ts";

const quote = {
  quoteId: "qt_1",
  accountId: "acct_1",
  price: 2_400n,
  issuedAt: 1_000,
  expiresAt: 301_000,
  fingerprint: Buffer.alloc(16),
};
const ports = {
  ...unusedPaymentPorts,
  chain: { verify: () => Promise.reject(new Error("is not asked for")) },
  quotes: { find: () => undefined },
  stopping: new AbortController().signal,
};
const OFF = new PaymentMethods(paymentMethods(ports));
const unused = () => Promise.reject(new Error("is not asked for"));
const relay = { feePayer: "Fee1", identify: unused, relay: unused, recentBlockhash: unused, build: unused };
const error = new PaymentRequiredError("paid", quote, "pay");

describe("the 402 answer", () => {
  it("announces the memo form of its transport", () => {
    const messages = new PaymentRequiredMessages({ ...PAYMENT, memoPrefix: "acme" }, OFF);
    expect(messages.message(error, "req_1", "step").paymentInstructions?.memoFormat).toBe(
      "<step_id>:<quote_id>:<nonce>",
    );
    expect(messages.message(error, "req_1", "prefix").paymentInstructions?.memoFormat).toBe(
      "acme:{quote_id}",
    );
  });

  it("contains the quote with price, step and times", () => {
    const message = new PaymentRequiredMessages(PAYMENT, OFF).message(error, "req_1", "step");
    expect(message).toMatchObject({
      code: "PAYMENT_REQUIRED",
      message: "pay",
      requestId: "req_1",
      stepId: stepIdOf("qt_1"),
    });
    expect(message.quote).toMatchObject({
      quoteId: "qt_1",
      tool: "paid",
      priceUsdcMicrousd: 2_400n,
      amountUsdcMicrousd: 2_400n,
      priceDisplay: "$0.0024",
      ttlSeconds: 300,
      expiresAt: { seconds: 301n, nanos: 0 },
    });
  });

  it("names fee payer and treasury owner only when the relay is on", () => {
    const off = new PaymentRequiredMessages(PAYMENT, OFF).message(error, "req_1", "step").paymentInstructions;
    expect(off).toMatchObject({ gaslessSupported: false, paymentMethods: ["wallet"] });
    expect([off?.feePayer, off?.treasuryOwner]).toEqual([undefined, undefined]);
    const on = new PaymentRequiredMessages(
      PAYMENT,
      new PaymentMethods(paymentMethods({ ...ports, relay })),
    ).message(error, "req_1", "step").paymentInstructions;
    expect(on).toMatchObject({
      gaslessSupported: true,
      paymentMethods: ["wallet", "gasless"],
      feePayer: "Fee1",
      treasuryOwner: "owner",
    });
  });
});
