import { Code, ConnectError } from "@connectrpc/connect";
import { ToolgateClientError } from "./errors.ts";
import { ErrorBodySchema, type PaymentRequired, PaymentRequiredSchema } from "./messages.ts";

/** An error answer of the gateway. `code` is of its catalogue (docs/reference/errors.md), e.g. `UNAUTHORIZED`; gRPC's name where it gave none. */
export class CallError extends ToolgateClientError {
  readonly requestId: string | undefined;
  /** Seconds after which another try makes sense. */
  readonly retryAfterSeconds: number | undefined;
  /** What the call costs and how to pay, of PAYMENT_REQUIRED. */
  readonly paymentRequired: PaymentRequired | undefined;

  constructor(error: ConnectError) {
    const [offer] = error.findDetails(PaymentRequiredSchema);
    const [body] = error.findDetails(ErrorBodySchema);
    const told = offer ?? body;
    super(told?.code ?? Code[error.code].toUpperCase(), told?.message ?? error.rawMessage, { cause: error });
    this.requestId = told?.requestId;
    this.retryAfterSeconds = body?.retryAfterSeconds;
    this.paymentRequired = offer;
  }
}

/** What a call that failed throws: this package's own errors as they are, the gateway's answers as `CallError`. */
export function callErrorOf(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const { cause } = error;
  if (cause instanceof ToolgateClientError) return cause;
  // The caller's own abort, and a network that is down, are no answers.
  if (cause instanceof Error && !(cause instanceof ConnectError)) return cause;
  return new CallError(error);
}
