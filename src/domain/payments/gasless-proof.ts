import { NETWORK, requireQuoteId } from "./body-proof.ts";
import { BODY_CARRIER, type Proof, type ProofCarriers, type ProofFormat } from "./proof.ts";
import { parseXPayment, readXPayment, X_PAYMENT } from "./x-payment.ts";
import { parseX402Payload, type X402Payload } from "./x402-payload.ts";
import type { X402Terms } from "./x402.ts";

/** A transaction signed by the caller, to be sent by the gateway. */
export interface GaslessProof extends Proof {
  readonly method: "gasless";
  /** Its carrier in the caller's terms. */
  readonly carrier: string;
  /** Wire bytes without our signature, which is the first. */
  readonly transaction: Uint8Array;
  /** Undefined: only the memo names the quote. */
  readonly quoteId: string | undefined;
  /** The offer as repeated by an x402 payload. */
  readonly accepted: Partial<X402Terms> | undefined;
  readonly offerToken: string | undefined;
  /** Idempotency key of an x402 payload. */
  readonly paymentId: string | undefined;
}

/** X-Payment with `transaction`, and every x402 payload: other x402 methods go before this one. */
export const gaslessProofs: ProofFormat<GaslessProof> = {
  name: "gasless",
  network: NETWORK,
  recognise(sent) {
    if (sent.carrier === BODY_CARRIER) return undefined;
    const { carrier, members } = sent;
    if (carrier !== X_PAYMENT) return fromX402(parseX402Payload(members, carrier), carrier);
    const own = readXPayment(members, "gasless");
    if (own?.form === "x402") return fromX402(own.payload, carrier);
    if (own?.form !== "transaction") return undefined;
    return {
      method: "gasless",
      carrier,
      transaction: own.transaction,
      quoteId: requireQuoteId(own.quoteId, "X-Payment: quote_id"),
      accepted: undefined,
      offerToken: undefined,
      paymentId: undefined,
    };
  },
  isSame(one, other) {
    const [mine, its] = [one, other].map(({ quoteId, paymentId, accepted }) => [
      quoteId,
      paymentId,
      accepted,
    ]);
    return (
      Buffer.compare(one.transaction, other.transaction) === 0 && JSON.stringify(mine) === JSON.stringify(its)
    );
  },
};

function fromX402(payload: X402Payload, carrier: string): GaslessProof {
  const { transaction, accepted, offerToken, paymentId } = payload;
  return { method: "gasless", carrier, transaction, quoteId: undefined, accepted, offerToken, paymentId };
}

/**
 * Returns the x402 version of a payment; undefined: not x402, or a version 1 payload that is invalid. Decides
 * how the settlement is reported.
 */
export function x402VersionOf({ xPayment, paymentSignature, metaPayment }: ProofCarriers): 1 | 2 | undefined {
  if (paymentSignature !== undefined || metaPayment !== undefined) return 2;
  if (xPayment === undefined) return undefined;
  try {
    return readXPayment(parseXPayment(xPayment), "gasless")?.form === "x402" ? 1 : undefined;
  } catch {
    return undefined;
  }
}
