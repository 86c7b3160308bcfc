/** gRPC status names, as the gRPC and Connect doors need them (grpc.io, status codes). */
export type RpcCode =
  | "ABORTED"
  | "CANCELLED"
  | "DEADLINE_EXCEEDED"
  | "FAILED_PRECONDITION"
  | "INTERNAL"
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "PERMISSION_DENIED"
  | "RESOURCE_EXHAUSTED"
  | "UNAUTHENTICATED"
  | "UNAVAILABLE"
  | "UNIMPLEMENTED";

/** The catalogue: every error that a caller can see, with its HTTP status (specification 7) and its gRPC code. */
export const ERRORS = {
  INVALID_REQUEST: { status: 400, rpc: "INVALID_ARGUMENT" },
  UNAUTHORIZED: { status: 401, rpc: "UNAUTHENTICATED" },
  PAYMENT_REQUIRED: { status: 402, rpc: "FAILED_PRECONDITION" },
  QUOTE_EXPIRED: { status: 402, rpc: "FAILED_PRECONDITION" },
  INVALID_PAYMENT: { status: 402, rpc: "FAILED_PRECONDITION" },
  FORBIDDEN: { status: 403, rpc: "PERMISSION_DENIED" },
  NOT_FOUND: { status: 404, rpc: "NOT_FOUND" },
  TOOL_NOT_FOUND: { status: 404, rpc: "NOT_FOUND" },
  TOOL_UNAVAILABLE: { status: 404, rpc: "UNIMPLEMENTED" },
  METHOD_NOT_ALLOWED: { status: 405, rpc: "UNIMPLEMENTED" },
  REQUEST_IN_PROGRESS: { status: 409, rpc: "ABORTED" },
  PAYLOAD_TOO_LARGE: { status: 413, rpc: "RESOURCE_EXHAUSTED" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, rpc: "INVALID_ARGUMENT" },
  IDEMPOTENCY_MISMATCH: { status: 422, rpc: "INVALID_ARGUMENT" },
  RATE_LIMITED: { status: 429, rpc: "RESOURCE_EXHAUSTED" },
  CANCELLED: { status: 499, rpc: "CANCELLED" },
  INTERNAL: { status: 500, rpc: "INTERNAL" },
  TOOL_FAILED: { status: 500, rpc: "INTERNAL" },
  PAYMENT_PENDING: { status: 503, rpc: "UNAVAILABLE" },
  UNAVAILABLE: { status: 503, rpc: "UNAVAILABLE" },
} as const satisfies Record<string, { status: number; rpc: RpcCode }>;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof ERRORS;

/** What an error may say besides its code and its message. */
export interface ErrorOptions {
  /** HTTP status where the same code has two: a proof that cannot even be parsed is INVALID_PAYMENT 400. */
  status?: number;
  /** gRPC code where a protocol prescribes another: a compressed message is UNIMPLEMENTED over gRPC and Connect. */
  rpc?: RpcCode;
  /** Seconds after which another try makes sense. */
  retryAfterSeconds?: number;
  /** Whether a server outside has worked for the call, or may have, although it is not charged. */
  worked?: boolean;
  /** What lies behind it; for the log, never for the caller. */
  cause?: unknown;
}

/** An error that the caller is meant to see. Anything else that is thrown becomes INTERNAL, its text kept from the caller. */
export class ToolgateError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly rpc: RpcCode;
  readonly retryAfterSeconds: number | undefined;
  /** See {@link ErrorOptions.worked}. */
  readonly worked: boolean;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    // An answer, not a fault: where it was made helps nobody, and to find that out costs more than to refuse. A cause keeps its own.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    // A message may quote what a caller or a model sent: half a surrogate pair has no UTF-8, and gRPC cannot send it.
    super(message.toWellFormed(), options.cause === undefined ? undefined : { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "ToolgateError";
    this.code = code;
    this.status = options.status ?? ERRORS[code].status;
    this.rpc = options.rpc ?? ERRORS[code].rpc;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.worked = options.worked ?? false;
  }
}

/** INVALID_REQUEST that names the field by its path, e.g. `params.messages[2].role`. */
export function invalidField(path: string, problem: string): ToolgateError {
  return new ToolgateError("INVALID_REQUEST", `${path}: ${problem}`);
}

/** INVALID_PAYMENT 400: the proof cannot be read, so nothing was looked up and nothing was consumed. */
export function malformedProof(problem: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", problem, { status: 400 });
}
