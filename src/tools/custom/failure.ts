import { ToolgateError } from "../../domain/core/errors.ts";

/** A call that was certainly not performed. Server details stay in the cause. @param what for the caller */
export function callFailed(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause });
}

/** A call that may have been performed, without a result: it counts against the limit for unpaid work. */
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
