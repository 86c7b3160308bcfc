import { ToolgateError } from "../../domain/core/errors.ts";
import { shortened } from "../../outbound/error-words.ts";
import { holdsSecret } from "./result-check.ts";

/** A call that was certainly not performed. Server details stay in the cause. @param what for the caller */
export function callFailed(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause });
}

/** A call that may have been performed, without a result: it counts against the limit for unpaid work. */
export function failedAfterWork(tool: string, what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}; nothing was charged`, { cause, worked: true });
}

/**
 * A call that the server refused for what it asks. @param words of the server, for the caller; they are left
 * out with a secret in them
 */
export function refusedCall(
  tool: string,
  what: string,
  words: string,
  { secrets, cause }: { readonly secrets: readonly string[]; readonly cause: unknown },
): ToolgateError {
  const said = words === "" || holdsSecret(words, secrets) ? "" : `: ${shortened(words)}`;
  return new ToolgateError("TOOL_FAILED", `${tool}: ${what}${said}; nothing was charged`, {
    status: 400,
    rpc: "INVALID_ARGUMENT",
    worked: true,
    cause,
  });
}

/** A server that is busy (503), or that limits what the gateway sends to it (429). */
export function unavailable(
  tool: string,
  what: string,
  retryAfterSeconds: number,
  cause: unknown,
  status = 503,
): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    `${tool}: ${what}; nothing was charged, try again in ${retryAfterSeconds} s`,
    { retryAfterSeconds, status, cause },
  );
}
