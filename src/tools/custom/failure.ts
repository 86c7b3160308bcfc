import { ToolgateError } from "../../domain/core/errors.ts";

/**
 * A call the server certainly did not perform. Details that name or quote the server stay in the cause, for
 * the log.
 * @param what for the caller, e.g. "the server did not answer within 10 s"
 */
export function callFailed(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause });
}

/**
 * A call the server performed or may have performed without a usable result. The operator bears the cost,
 * so these calls count against the limit for unpaid work.
 */
export function failedAfterWork(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause, worked: true });
}

/** A server that is busy: HTTP 429 and 503, gRPC RESOURCE_EXHAUSTED and UNAVAILABLE. */
export function unavailable(
  tool: string,
  what: string,
  retryAfterSeconds: number,
  cause: unknown,
): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    `${tool}: ${what}; nothing was charged, try again in ${retryAfterSeconds} s`,
    { retryAfterSeconds, cause },
  );
}
