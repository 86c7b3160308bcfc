import { createHmac, hash, timingSafeEqual } from "node:crypto";
import {
  type IdentifiedPayment,
  type PaymentMethod,
  paymentRefused,
} from "../../../../src/app/payments/payment-methods.ts";
import { requireQuoteId } from "../../../../src/domain/payments/body-proof.ts";
import { BODY_CARRIER, type Proof } from "../../../../src/domain/payments/proof.ts";
import { textMember, X_PAYMENT } from "../../../../src/domain/payments/x402-payload.ts";
import { displayUsd } from "../../../../src/domain/core/money.ts";

/** Vouchers of one issuer: `<micro-USD>-<serial>-<signature>`. Each pays once. */
export interface VoucherDeps {
  readonly secret: Buffer;
  readonly now: () => number;
  /** Whether the issuer has taken the voucher back. */
  readonly revoked: (reference: string) => boolean;
}

interface VoucherProof extends Proof {
  readonly code: string;
  readonly quoteId: string;
}

interface Voucher extends IdentifiedPayment {
  /** Micro-USD; undefined if the issuer has not signed it. */
  readonly value: bigint | undefined;
}

const NAME = "voucher";

export function voucherMethod({ secret, now, revoked }: VoucherDeps): PaymentMethod<VoucherProof, Voucher> {
  return {
    name: NAME,
    network: NAME,
    recognise(sent) {
      if (sent.carrier === BODY_CARRIER) {
        const { network, txRef: code, quoteId = "" } = sent.body;
        if (network !== NAME) return undefined;
        return { method: NAME, code, quoteId: requireQuoteId(quoteId, "payment_proof.quote_id") };
      }
      const code =
        sent.carrier === X_PAYMENT ? textMember(sent.members, "voucher", "X-Payment: ") : undefined;
      if (code === undefined) return undefined;
      const quoteId = textMember(sent.members, "quote_id", "X-Payment: ") ?? "";
      return { method: NAME, code, quoteId: requireQuoteId(quoteId, "X-Payment: quote_id") };
    },
    isSame: (one, other) => one.code === other.code && one.quoteId === other.quoteId,
    instructions: () => ({
      name: NAME,
      xPayment: 'base64url(JSON {"voucher": "<code>", "quote_id": "<quote_id>"})',
      sponsor: undefined,
    }),
    identify: async ({ code, quoteId }) => ({
      method: NAME,
      network: NAME,
      reference: voucherReference(code),
      quoteId,
      stepId: undefined,
      made: false,
      value: valueOf(code, secret),
    }),
    async verify({ value, reference }, { quote, receivedAt }) {
      if (value === undefined) throw paymentRefused("the issuer has not signed this voucher");
      if (revoked(reference)) throw paymentRefused("the issuer has revoked this voucher");
      if (receivedAt > quote.expiresAt) throw paymentRefused("the quote has expired");
    },
    async settle({ network, reference, value = 0n }, { quote }) {
      const transfer = {
        network,
        reference,
        amount: value,
        quoteId: quote.quoteId,
        payer: undefined,
        slot: 0n,
        blockTime: new Date(now()),
        finalized: false,
        paidBy: "transfer" as const,
      };
      if (value >= quote.price) return { transfer, problem: undefined };
      const message = `the voucher is worth ${displayUsd(value)}, the price is ${displayUsd(quote.price)}`;
      return { transfer, problem: { code: "INVALID_PAYMENT", message } };
    },
    finalityStatuses: async (payments) =>
      payments.map(({ reference }) => (revoked(reference) ? "vanished" : "pending")),
  };
}

/** Issues a voucher. */
export function issueVoucher(secret: Buffer, value: bigint, serial: string): string {
  return `${value}-${serial}-${sign(secret, `${value}-${serial}`)}`;
}

/** The ledger's reference of a voucher: not the code, which is a secret until it is used. */
export function voucherReference(code: string): string {
  return hash("sha256", code);
}

function valueOf(code: string, secret: Buffer): bigint | undefined {
  const [, value = "", serial = "", signature = ""] = /^(\d{1,9})-(\w+)-([0-9a-f]{32})$/.exec(code) ?? [];
  const expected = sign(secret, `${value}-${serial}`);
  if (signature.length !== expected.length) return undefined;
  return timingSafeEqual(Buffer.from(signature), Buffer.from(expected)) ? BigInt(value) : undefined;
}

function sign(secret: Buffer, text: string): string {
  return createHmac("sha256", secret).update(text).digest("hex").slice(0, 32);
}
