import type { Log } from "../domain/core/log.ts";
import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type ErrorBody, ErrorBodySchema } from "#gen/toolgate/v1/error_pb.ts";
import { type HealthUnavailable, HealthUnavailableSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { type PaymentRequired, PaymentRequiredSchema } from "#gen/toolgate/v1/payment_pb.ts";
import { LimitReachedError, MissingScopeError } from "../app/calls/call-errors.ts";
import { ToolgateError, type RpcCode } from "../domain/core/errors.ts";
import { RatedError } from "./key-authenticator.ts";
import { rateLimitHeaders, type Header } from "./headers.ts";
import { SignInRequiredError } from "./wallets/sign-in-required.ts";
import { exceededLimitMessage } from "./budget-message.ts";
import { offerHeaders, type Offers } from "./offers.ts";

interface Described<D extends DescMessage> {
  readonly schema: D;
  readonly message: MessageShape<D>;
}

/** The message of an error: an error detail over gRPC and Connect, the body over HTTP. */
export type ErrorDetail =
  | Described<typeof ErrorBodySchema>
  | Described<typeof PaymentRequiredSchema>
  | Described<typeof HealthUnavailableSchema>;

export interface Failure {
  readonly error: ToolgateError;
  /** The gRPC status: the error's own, or DEADLINE_EXCEEDED. */
  readonly rpc: RpcCode;
  readonly detail: ErrorDetail;
  /** X-RateLimit-*, Retry-After, WWW-Authenticate and PAYMENT-REQUIRED when they apply. */
  readonly headers: readonly Header[];
  /** The forms of a PAYMENT_REQUIRED in payment schemes. */
  readonly offers: Offers | undefined;
}

/** An error with its own message type instead of ErrorBody. */
export class DetailedError extends ToolgateError {
  readonly detail: ErrorDetail;
  readonly offers: Offers | undefined;

  constructor(error: ToolgateError, detail: ErrorDetail, offers?: Offers) {
    super(error.code, error.message, { status: error.status, cause: error });
    this.detail = detail;
    this.offers = offers;
  }

  /** PAYMENT_REQUIRED with the quote, also in the schemes that can pay it. */
  static paymentRequired(error: ToolgateError, message: PaymentRequired, offers: Offers): DetailedError {
    return new DetailedError(error, { schema: PaymentRequiredSchema, message }, offers);
  }

  /** UNAVAILABLE with the health check's message. */
  static healthUnavailable(message: HealthUnavailable): DetailedError {
    const error = new ToolgateError("UNAVAILABLE", "the database is unreachable");
    return new DetailedError(error, { schema: HealthUnavailableSchema, message });
  }
}

/**
 * Maps a thrown value to a client error. Unexpected errors expose only the request id; they are logged, and
 * so are hidden causes. Aborts become CANCELLED, with gRPC status DEADLINE_EXCEEDED when a deadline passed.
 */
export function failureOf(thrown: unknown, requestId: string, log: Pick<Log, "error">): Failure {
  const expected = expectedError(thrown);
  const error = expected ?? internalError(thrown);
  const isOurs = error.status >= 500 || error.code === "UNAVAILABLE";
  if (!expected || (isOurs && hiddenCause(error) !== undefined))
    log.error({ request_id: requestId, err: thrown }, "request failed");
  const rpc = isTimeout(thrown) ? "DEADLINE_EXCEEDED" : error.rpc;
  if (error instanceof DetailedError) {
    const { detail, offers } = error;
    return {
      error,
      rpc,
      detail,
      headers: [...headersOf(error), ...(offers ? offerHeaders(offers) : [])],
      offers,
    };
  }
  const detail: ErrorDetail = { schema: ErrorBodySchema, message: bodyOf(error, requestId) };
  return { error, rpc, detail, headers: headersOf(error), offers: undefined };
}

function expectedError(thrown: unknown): ToolgateError | undefined {
  if (thrown instanceof ToolgateError) return thrown;
  if (isTimeout(thrown))
    return new ToolgateError("CANCELLED", "the deadline passed before the response was ready", {
      cause: thrown,
    });
  if (thrown instanceof Error && thrown.name === "AbortError")
    return new ToolgateError("CANCELLED", "the request was cancelled", { cause: thrown });
  return undefined;
}

/** The error of `AbortSignal.timeout` (DOM, AbortSignal). */
function isTimeout(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "TimeoutError";
}

/** Returns the cause that the client does not see. */
function hiddenCause(error: ToolgateError): unknown {
  return error instanceof DetailedError && error.cause instanceof ToolgateError
    ? error.cause.cause
    : error.cause;
}

function internalError(thrown: unknown): ToolgateError {
  return new ToolgateError("INTERNAL", "internal error; repeat the request with the same idempotency key", {
    cause: thrown,
  });
}

function bodyOf(error: ToolgateError, requestId: string): ErrorBody {
  const { code, message, retryAfterSeconds } = error;
  return create(ErrorBodySchema, {
    code,
    message,
    requestId,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(error instanceof LimitReachedError && { limit: exceededLimitMessage(error) }),
  });
}

function headersOf(error: ToolgateError): Header[] {
  const headers = error instanceof RatedError ? rateLimitHeaders(error.rate) : [];
  if (error.retryAfterSeconds !== undefined) headers.push(["retry-after", String(error.retryAfterSeconds)]);
  if (error.code === "UNAUTHORIZED") headers.push(["www-authenticate", 'Bearer realm="toolgate"']);
  if (error instanceof MissingScopeError && error.wanted)
    headers.push(["www-authenticate", `Bearer error="insufficient_scope", scope="${error.wanted}"`]);
  if (error instanceof SignInRequiredError) headers.push(error.header);
  return headers;
}
