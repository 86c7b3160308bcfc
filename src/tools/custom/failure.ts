import { ToolgateError } from "../../domain/errors.ts";

/**
 * A call that the server did not do. What the caller reads names neither the server nor repeats its words: they are the operator's, and
 * stay in the cause, for the log.
 * @param what for the caller, e.g. "the server did not answer within 10 s"
 */
export function callFailed(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause });
}

/**
 * A call that the server did, or may have done, and whose answer cannot be had or passed on: the operator's loss, so there is a limit for it.
 */
export function failedAfterWork(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause, worked: true });
}

/** A server that asks for patience (HTTP 429 and 503, gRPC RESOURCE_EXHAUSTED and UNAVAILABLE). */
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
