import { ERRORS as CATALOGUE } from "#gen/errors.ts";

/** gRPC status names (grpc.io, status codes). */
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

/** All client errors with their HTTP status (specification 7) and gRPC code; the source is api.proto. */
export const ERRORS = CATALOGUE satisfies Readonly<Record<string, { status: number; rpc: RpcCode }>>;

export type ErrorCode = keyof typeof ERRORS;

/** Optional properties of an error. */
export interface ErrorOptions {
  /** HTTP status if it differs: a proof that cannot be parsed is INVALID_PAYMENT 400. */
  status?: number;
  /**
   * gRPC code if a protocol prescribes another: a compressed message is UNIMPLEMENTED in gRPC and Connect.
   */
  rpc?: RpcCode;
  /** Seconds until a retry can succeed. */
  retryAfterSeconds?: number;
  /** Whether an upstream server worked, or may have worked, for the uncharged call. */
  worked?: boolean;
  /** Logged, never returned to the caller. */
  cause?: unknown;
}

/** An error for the caller. Any other thrown value becomes INTERNAL and is only logged. */
export class ToolgateError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly rpc: RpcCode;
  readonly retryAfterSeconds: number | undefined;
  /** See {@link ErrorOptions.worked}. */
  readonly worked: boolean;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    // No stack trace: it costs more than the refusal. A cause keeps its own.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    // Quoted input may contain lone surrogates, which gRPC cannot send.
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

/** INVALID_REQUEST naming a field, e.g. `params.messages[2].role`. */
export function invalidField(path: string, problem: string): ToolgateError {
  return new ToolgateError("INVALID_REQUEST", `${path}: ${problem}`);
}

/** INVALID_PAYMENT 400: the proof cannot be parsed. Nothing was looked up or consumed. */
export function malformedProof(problem: string): ToolgateError {
  return new ToolgateError("INVALID_PAYMENT", problem, { status: 400 });
}
