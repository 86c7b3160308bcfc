import { FacilitatorService } from "#gen/toolgate/v1/facilitator_service_pb.ts";
import type { Facilitator, FacilitatorCaller } from "../../../app/payments/facilitator.ts";
import type { Caller } from "../../../domain/accounts/caller.ts";
import { ToolgateError } from "../../../domain/core/errors.ts";
import { bind, OPERATOR, type ServiceBinding } from "../../endpoint.ts";
import type { RequestContext } from "../../request-context.ts";

/** Settles payments of the operator's other services. @param facilitator undefined: FACILITATOR is off */
export function facilitatorService(facilitator: Facilitator | undefined): ServiceBinding {
  const on = (): Facilitator => {
    if (facilitator) return facilitator;
    throw new ToolgateError("NOT_FOUND", "this gateway is no facilitator (FACILITATOR)");
  };
  return bind(FacilitatorService, OPERATOR, {
    getSupported: () => ({ supported: on().supported() }),
    verifyPayment: async ({ payment = {} }, context) => ({
      verdict: await on().verify(payment, callerOf(context)),
    }),
    settlePayment: async ({ payment = {} }, context) => ({
      settlement: await on().settle(payment, callerOf(context)),
    }),
  });
}

function callerOf({ caller, signal }: RequestContext<Caller>): FacilitatorCaller {
  return { accountId: caller.accountId, keyId: caller.keyId, signal };
}
