import type { CallAuthorization } from "../../app/calls/ledger.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";

/**
 * The claim of a call: its idempotency key, else its payment. A balance call without a key claims nothing.
 */
export function claimKey(call: CallAuthorization): string | undefined {
  return claimOf(call.idempotencyKey, call.payment);
}

/** Prefixed, so that an idempotency key never equals another call's payment. */
export function claimOf(
  idempotencyKey: string | undefined,
  payment: PaymentId | undefined,
): string | undefined {
  if (idempotencyKey !== undefined) return `key:${idempotencyKey}`;
  return payment && `pay:${payment.network}:${payment.reference}`;
}

export function idempotencyKeyOf(claim: string | null): string | undefined {
  return claim?.startsWith("key:") ? claim.slice("key:".length) : undefined;
}

/** Keys that no two calls of a batch share: a claim, a payment, a quote (settled by one payment only). */
export function exclusiveKeys(call: CallAuthorization): string[] {
  const claim = claimKey(call);
  const keys = claim === undefined ? [] : [`claim ${call.accountId} ${claim}`];
  if (call.payment) {
    const { network, reference, quoteId } = call.payment;
    keys.push(`payment ${network} ${reference}`, `quote ${quoteId}`);
  }
  return keys;
}

/**
 * Whether only the idempotency key identifies the call. A payment can be reversed, which changes the receipt.
 */
export function isKeyedCall({ idempotencyKey, payment }: CallAuthorization): boolean {
  return idempotencyKey !== undefined && payment === undefined;
}
