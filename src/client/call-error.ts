import { Code, ConnectError } from "@connectrpc/connect";
import { ToolgateClientError } from "./errors.ts";
import { ErrorBodySchema, type PaymentRequired, PaymentRequiredSchema } from "./messages.ts";

/**
 * An error response of the gateway. `code` is listed in docs/reference/errors.md; without one it is the gRPC
 * status name.
 */
export class CallError extends ToolgateClientError {
  readonly requestId: string | undefined;
  /** Delay before a retry, seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** Price and payment instructions of PAYMENT_REQUIRED. */
  readonly paymentRequired: PaymentRequired | undefined;

  constructor(error: ConnectError) {
    const [offer] = error.findDetails(PaymentRequiredSchema);
    const [body] = error.findDetails(ErrorBodySchema);
    const reported = offer ?? body;
    super(reported?.code ?? Code[error.code].toUpperCase(), reported?.message ?? error.rawMessage, {
      cause: error,
    });
    this.requestId = reported?.requestId;
    this.retryAfterSeconds = body?.retryAfterSeconds;
    this.paymentRequired = offer;
  }
}

/** Maps a failed call to the error thrown: gateway errors become `CallError`, others stay unchanged. */
export function callErrorOf(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const { cause } = error;
  if (cause instanceof ToolgateClientError) return cause;
  // An abort or a network failure is not a gateway response.
  if (cause instanceof Error && !(cause instanceof ConnectError)) return cause;
  return new CallError(error);
}
