import type { CallAuthorization } from "../app/ports.ts";

/** The claim of a call: its key, or its payment where it has none. A paid call from the balance without a key claims nothing. */
export function claimKey(call: CallAuthorization): string | undefined {
  return claimOf(call.idempotencyKey, call.payment?.txSignature);
}

/** Keys and payments are named apart, so that no caller's key can be another call's payment. */
export function claimOf(
  idempotencyKey: string | undefined,
  txSignature: string | undefined,
): string | undefined {
  if (idempotencyKey !== undefined) return `key:${idempotencyKey}`;
  return txSignature === undefined ? undefined : `pay:${txSignature}`;
}

/** The caller's key of a claim that has one. */
export function idempotencyKeyOf(claim: string | null): string | undefined {
  return claim?.startsWith("key:") ? claim.slice("key:".length) : undefined;
}

/** What no two calls of one batch share: a claim, a payment, and a quote, which only one payment settles. */
export function exclusiveKeys(call: CallAuthorization): string[] {
  const claim = claimKey(call);
  const keys = claim === undefined ? [] : [`claim ${call.accountId} ${claim}`];
  if (call.payment) keys.push(`payment ${call.payment.txSignature}`, `quote ${call.payment.quoteId}`);
  return keys;
}
