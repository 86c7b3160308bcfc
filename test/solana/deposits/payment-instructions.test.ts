import { Keypair } from "@solana/web3.js";
import { describe, expect, it } from "vitest";
import { paymentInstructions, type PaymentOrder } from "../../../src/solana/deposits/payment-instructions.ts";
import { TREASURY } from "../transaction-fixture.ts";

const payer = Keypair.generate();
const order: PaymentOrder = {
  payer: payer.publicKey.toBase58(),
  payTo: TREASURY.tokenAccount,
  amount: 10_000n,
  memo: "svc:qt_1",
};

describe("payment instructions", () => {
  it("carry the memo right before the transfer", () => {
    const [memo, transfer] = paymentInstructions(order);
    expect(memo?.data.toString()).toBe("svc:qt_1");
    expect(transfer?.data.readBigUInt64LE(1)).toBe(10_000n);
    expect(transfer?.keys[2]?.pubkey.toBase58()).toBe(TREASURY.tokenAccount);
  });

  it.each([0n, -1n, 2n ** 64n])("are rejected for %s micro-USD, which the encoder would wrap", (amount) => {
    expect(() => paymentInstructions({ ...order, amount })).toThrow(RangeError);
  });

  it("accept the largest amount", () => {
    const [, transfer] = paymentInstructions({ ...order, amount: 2n ** 64n - 1n });
    expect(transfer?.data.readBigUInt64LE(1)).toBe(2n ** 64n - 1n);
  });
});
