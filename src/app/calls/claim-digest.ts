import { createHmac } from "node:crypto";

/** Identifies a claim: the caller's idempotency key or, without one, its payment. */
export interface Claim {
  readonly accountId: string;
  readonly idempotencyKey: string | undefined;
  /** Base58. */
  readonly txSignature: string | undefined;
  /** Fingerprint of tool and params, 32 bytes. */
  readonly fingerprint: Buffer;
}

/**
 * Returns an identifier of the claim for upstream servers: equal for each run of one claim, and without the
 * caller's own key in it. Undefined when the call claims nothing.
 */
export function claimDigest({
  accountId,
  idempotencyKey,
  txSignature,
  fingerprint,
}: Claim): string | undefined {
  const claim = idempotencyKey === undefined ? txSignature && `pay:${txSignature}` : `key:${idempotencyKey}`;
  if (claim === undefined) return undefined;
  return createHmac("sha256", accountId).update(fingerprint).update(claim).digest("base64url");
}
