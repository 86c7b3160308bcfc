import type { Refusal } from "./answer.ts";
import { ToolgateClientError } from "./errors.ts";
import type { PaymentRequired } from "./messages.ts";

/** An error response. `code` is listed in docs/reference/errors.md, or else is the gRPC status name. */
export class CallError extends ToolgateClientError {
  readonly requestId: string | undefined;
  /** Delay before a retry, seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** Price and payment instructions of PAYMENT_REQUIRED. */
  readonly paymentRequired: PaymentRequired | undefined;

  constructor({ code, message, requestId, retryAfterSeconds, paymentRequired }: CallErrorFields) {
    super(code.toUpperCase(), message);
    this.requestId = requestId;
    this.retryAfterSeconds = retryAfterSeconds;
    this.paymentRequired = paymentRequired;
  }
}

type CallErrorFields = Pick<Refusal, "code" | "message"> & Partial<Refusal>;
