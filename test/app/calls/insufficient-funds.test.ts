import { describe, expect, it } from "vitest";
import { PaymentRequiredError } from "../../../src/app/calls/call-errors.ts";
import { insufficientFunds } from "../../../src/app/calls/refusals.ts";

const quote = {
  quoteId: "qt_1",
  accountId: "acct_1",
  price: 10n,
  issuedAt: 0,
  expiresAt: 1,
  fingerprint: Buffer.alloc(16),
};
const short = (balance: bigint, proved: boolean) =>
  insufficientFunds({ tool: "paid", price: 10n, metered: false, balance, proved }, () => quote);

describe("insufficient funds", () => {
  it("offers a quote when the call came without a proof", () => {
    expect(short(9n, false)).toBeInstanceOf(PaymentRequiredError);
  });

  it("offers no quote when the call came with a proof, so that no client pays twice", () => {
    const reported = short(9n, true);
    expect(reported).not.toBeInstanceOf(PaymentRequiredError);
    expect(reported).toMatchObject({ code: "INVALID_PAYMENT" });
  });

  it.each([true, false])("offers no quote while the balance is negative, proved: %s", (proved) => {
    const reported = short(-1n, proved);
    expect(reported).not.toBeInstanceOf(PaymentRequiredError);
    expect(reported).toMatchObject({ code: "FORBIDDEN" });
  });
});
