import { createHmac } from "node:crypto";
import type { PaymentId } from "../../domain/payments/payment-id.ts";

/** Identifies a claim: the caller's idempotency key or, without one, its payment. */
export interface Claim {
  readonly accountId: string;
  readonly idempotencyKey: string | undefined;
  readonly payment: PaymentId | undefined;
  /** Fingerprint of tool and params, 32 bytes. */
  readonly fingerprint: Buffer;
}

/**
 * Returns an identifier of the claim for upstream servers: equal for each run of one claim, and without the
 * caller's own key in it. Undefined when the call claims nothing.
 */
export function claimDigest({ accountId, idempotencyKey, payment, fingerprint }: Claim): string | undefined {
  const paid = payment && `pay:${payment.network}:${payment.reference}`;
  const claim = idempotencyKey === undefined ? paid : `key:${idempotencyKey}`;
  if (claim === undefined) return undefined;
  return createHmac("sha256", accountId).update(fingerprint).update(claim).digest("base64url");
}
