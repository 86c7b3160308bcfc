import type { Receipt } from "../../domain/calls/receipt.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { stepIdOf } from "../../domain/payments/quote.ts";
import type { IdentifiedPayment } from "../payments/payment-method.ts";
import type { Ledger, PriorQuery } from "./ledger.ts";
import type { CallPayment } from "../payments/verified-transfer.ts";
import { priorCallError } from "./refusals.ts";

/** Outcome of an earlier call with the same key or proof. */
export type PriorLookup =
  | { readonly kind: "none"; readonly payment: undefined; readonly idempotencyKey: undefined }
  | { readonly kind: "replay"; readonly result: JsonObject; readonly receipt: Receipt | undefined }
  /**
   * The payment was credited for this call, which then failed: it runs again under the key of that attempt.
   */
  | {
      readonly kind: "credited";
      readonly payment: CallPayment;
      readonly idempotencyKey: string | undefined;
    };

export const NO_PRIOR: PriorLookup = { kind: "none", payment: undefined, idempotencyKey: undefined };

/**
 * Looks up the outcome of an earlier call before expiry, relay and chain are checked. Writes nothing.
 * Without a proof the ledger finds the outcome when it authorizes the call.
 * @throws ToolgateError when the earlier call rules this one out
 */
export async function lookUpPriorOutcome(
  ledger: Pick<Ledger, "findPrior" | "balance">,
  claim: Omit<PriorQuery, "network" | "reference" | "quoteId">,
  identified: IdentifiedPayment | undefined,
): Promise<PriorLookup> {
  if (!identified) return NO_PRIOR;
  const { network, reference, quoteId } = identified;
  const prior = await ledger.findPrior({ ...claim, network, reference, quoteId });
  if (!prior) return NO_PRIOR;
  switch (prior.kind) {
    case "replay":
      return prior;
    case "credited": {
      const payment = { network, reference, quoteId, stepId: stepIdOf(quoteId), transfer: undefined };
      return { kind: "credited", payment, idempotencyKey: prior.idempotencyKey };
    }
    default:
      throw await priorCallError(ledger, claim.accountId, prior);
  }
}
