import { NETWORK, type TransferProof } from "../../../domain/payments/body-proof.ts";
import { transferProofs } from "../../../domain/payments/transfer-proof.ts";
import { X_PAYMENT_FORMATS } from "../../../domain/payments/x-payment.ts";
import { lateProof, settleOnChain, type ChainPayment, type ChainPaymentDeps } from "../chain-payment.ts";
import type { PaymentInstructions, PaymentMethod } from "../payment-method.ts";

export interface TransferDeps extends ChainPaymentDeps {
  readonly finality: Pick<PaymentMethod, "finalityStatuses">;
}

const INSTRUCTIONS: PaymentInstructions = {
  name: "wallet",
  xPayment: X_PAYMENT_FORMATS.transfer,
  sponsor: undefined,
};

/** A USDC transfer on Solana that the payer's wallet sends. */
export function transferMethod(deps: TransferDeps): PaymentMethod<TransferProof, ChainPayment> {
  return {
    ...transferProofs(deps.memoPrefix),
    instructions: () => INSTRUCTIONS,
    identify: async ({ method, txSignature, quoteId, stated }) => ({
      method,
      network: NETWORK,
      reference: txSignature,
      quoteId,
      stepId: stated.stepId,
      made: true,
      stated,
    }),
    async verify(_payment, { quote, receivedAt }) {
      const late = lateProof(deps, quote, receivedAt);
      if (late) throw late;
    },
    settle: (payment, attempt) => settleOnChain(deps, payment, attempt, "transfer"),
    finalityStatuses: (payments, signal) => deps.finality.finalityStatuses(payments, signal),
  };
}
