import { encodeBase58, parseSignature } from "../../domain/core/base58.ts";
import { NETWORK as SOLANA } from "../../domain/payments/body-proof.ts";
import type { PaymentId } from "../../domain/payments/payment-id.ts";

/** Columns that identify a payment. */
export interface PaymentColumns {
  readonly network: string;
  readonly reference: Buffer;
}

/**
 * The stored reference: on Solana the 64 bytes of the signature, elsewhere the text in UTF-8.
 * @throws Error for an invalid signature
 */
export function referenceFrom({ network, reference }: PaymentId): Buffer {
  if (network !== SOLANA) return Buffer.from(reference);
  const bytes = parseSignature(reference);
  if (!bytes) throw new Error("not a transaction signature");
  return Buffer.from(bytes);
}

/** The reference as text. */
export function referenceText({ network, reference }: PaymentColumns): string {
  return network === SOLANA ? encodeBase58(reference) : reference.toString();
}

/** The payment in a transfer's `ref` (SQL function payment_ref). */
export function paymentOfRef(ref: Buffer): PaymentColumns {
  const end = ref.indexOf(0);
  return { network: ref.subarray(0, end).toString(), reference: ref.subarray(end + 1) };
}
