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

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}

interface ErrorOptions {
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
  /** What a model server says of a call that it refused, as the OpenAI API does. */
  refusal?: Refusal;
  /** Logged, never returned to the caller. */
  cause?: unknown;
}

export type Refusal = Readonly<Partial<Record<"type" | "code" | "param", string>>>;

/** An error for the caller. Any other thrown value becomes INTERNAL and is only logged. */
export class ToolgateError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly rpc: RpcCode;
  readonly retryAfterSeconds: number | undefined;
  /** See {@link ErrorOptions.worked}. */
  readonly worked: boolean;
  /** See {@link ErrorOptions.refusal}. */
  readonly refusal: Refusal | undefined;

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
    this.refusal = options.refusal;
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

const LONGEST_NAME = 64;

/**
 * Formats the path of a parameter, e.g. `params.messages[2].role`; quotes names that are no identifiers,
 * cuts long ones.
 * @param path member names and array indices, outermost first
 */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    const name = String(step).slice(0, LONGEST_NAME);
    return /^[A-Za-z_]\w*$/.test(name) ? `${text}.${name}` : `${text}[${JSON.stringify(name)}]`;
  }, "params");
}

/** A JSON Schema type with its article, e.g. `an array`, `a whole number`. */
export function describeType(expected: string): string {
  if (expected === "int" || expected === "integer") return "a whole number";
  if (expected === "null") return "null";
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

/** The type of a value in the same words. */
export function describeValue(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a fraction";
  return describeType(typeof value);
}
