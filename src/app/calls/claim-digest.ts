import { createHmac } from "node:crypto";

/** What a claim is known by: the caller's key, or else its payment. */
export interface Claim {
  readonly accountId: string;
  readonly idempotencyKey: string | undefined;
  /** Base58. */
  readonly txSignature: string | undefined;
  /** Of tool and params, 32 bytes. */
  readonly fingerprint: Buffer;
}

/**
 * Returns what servers behind tools know a claim by: the same for each run of the claim, another for every other claim, and nothing that
 * reveals the caller's own key. Undefined for a call that claims nothing.
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
