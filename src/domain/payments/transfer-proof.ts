import {
  NETWORK,
  parseBodyProof,
  requireQuoteId,
  requireSignature,
  type TransferProof,
} from "./body-proof.ts";
import { BODY_CARRIER, type ProofFormat } from "./proof.ts";
import { readXPayment, X_PAYMENT } from "./x-payment.ts";

/** Proofs in `payment_proof` and in X-Payment with `tx`. */
export function transferProofs(memoPrefix: string): ProofFormat<TransferProof> {
  return {
    name: "transfer",
    network: NETWORK,
    recognise(sent) {
      if (sent.carrier === BODY_CARRIER)
        return sent.body.network === NETWORK ? parseBodyProof(sent.body, memoPrefix) : undefined;
      if (sent.carrier !== X_PAYMENT) return undefined;
      const own = readXPayment(sent.members, "transfer");
      if (own?.form !== "transfer") return undefined;
      return {
        method: "transfer",
        txSignature: requireSignature(own.txRef, "X-Payment: tx"),
        quoteId: requireQuoteId(own.quoteId, "X-Payment: quote_id"),
        stated: { amount: undefined, memo: undefined, stepId: undefined },
      };
    },
    isSame: (one, other) => one.txSignature === other.txSignature && one.quoteId === other.quoteId,
  };
}
