import { type TransferProof, transferProofs } from "../../../domain/payments/body-proof.ts";
import { SOLANA } from "../../../domain/payments/payment-id.ts";
import { solanaCharge } from "../../../domain/payments/payment-auth.ts";
import { X_PAYMENT_FORMATS } from "../../../domain/payments/x402-payload.ts";
import type { X402Treasury } from "../../../domain/payments/x402.ts";
import { lateProof, settleOnChain, type ChainPayment, type ChainPaymentDeps } from "../chain-payment.ts";
import type { PaymentInstructions, PaymentMethod } from "../payment-methods.ts";

export interface TransferDeps extends ChainPaymentDeps {
  readonly treasury: X402Treasury;
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
    request: async ({ quoteId, price }) =>
      solanaCharge(deps.treasury, `${deps.memoPrefix}:${quoteId}`, price),
    identify: async ({ method, txSignature, quoteId, stated }) => ({
      method,
      network: SOLANA,
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
