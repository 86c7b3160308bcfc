import { expect, it } from "vitest";
import { PaymentRequiredError } from "../../../../src/app/calls/call-errors.ts";
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
/** test/contract/tool-call.test.ts shows the rest of the answer. */
const error = new PaymentRequiredError("paid", quote, "pay");

it("announces the memo form of its transport", () => {
  const messages = new PaymentRequiredMessages({ ...PAYMENT, memoPrefix: "acme" }, OFF);
  expect(messages.message(error, "req_1", "step").paymentInstructions?.memoFormat).toBe(
    "<step_id>:<quote_id>:<nonce>",
  );
  expect(messages.message(error, "req_1", "prefix").paymentInstructions?.memoFormat).toBe("acme:{quote_id}");
});
