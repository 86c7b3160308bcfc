import { ToolgateError } from "../../domain/core/errors.ts";

/** INVALID_PAYMENT: the proof does not pay this call. @param reason names the failed check and what to do */
export function paymentRefused(reason: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", `payment verification failed: ${reason}`);
}
