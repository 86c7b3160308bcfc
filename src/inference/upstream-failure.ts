import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from "openai";
import { ToolgateError } from "../domain/errors.ts";

/** Seconds to wait when a busy server does not say how long, and the most that is passed on when it does. */
const DEFAULT_RETRY_SECONDS = 5;
const MOST_RETRY_SECONDS = 300;

/** What is known about a failed request besides the error. */
export interface Circumstances {
  /** The gateway itself gave the work up. */
  readonly stopped: boolean;
  /** The time limit ran out. */
  readonly late: boolean;
  readonly timeoutMs: number;
}

/**
 * What the caller is told when a model server fails. Server, address, key and the server's own words stay in the cause, for the log:
 * they are the operator's, not the caller's.
 */
export function upstreamFailure(error: unknown, { stopped, late, timeoutMs }: Circumstances): ToolgateError {
  if (stopped) return unavailable("the service is shutting down", DEFAULT_RETRY_SECONDS, error);
  if (late || error instanceof APIConnectionTimeoutError)
    return failed(`the model server did not answer within ${timeoutMs / 1000} s`, error);
  if (error instanceof APIUserAbortError) return failed("the request to the model server was aborted", error);
  if (error instanceof APIConnectionError) return failed("the model server cannot be reached", error);
  if (error instanceof APIError) return refusal(error.status, error.headers, error);
  if (error instanceof SyntaxError) return malformed(error);
  return failed("the connection to the model server broke", error);
}

/** The server answered, but not with what the protocol asks for. */
export function malformed(cause: unknown): ToolgateError {
  return failed("the model server's answer could not be read", cause);
}

function refusal(status: unknown, headers: unknown, error: Error): ToolgateError {
  if (status === 429 || status === 503) return unavailable("the model server is busy", retryAfter(headers), error);
  if (status === 401 || status === 403) return failed("the model server refused the operator's credentials", error);
  if (status === 400 || status === 413 || status === 422) {
    return failed(
      `the model server refused the conversation (HTTP ${status}); it may be too long for the model together with max_tokens`,
      error,
    );
  }
  return failed(`the model server failed (HTTP ${String(status)})`, error);
}

/** `Retry-After` in seconds (RFC 9110, 10.2.3); its date form is not worth trusting a foreign clock. */
function retryAfter(headers: unknown): number {
  const text = headers instanceof Headers ? (headers.get("retry-after") ?? "") : "";
  if (!/^\d{1,6}$/.test(text)) return DEFAULT_RETRY_SECONDS;
  return Math.min(Math.max(Number(text), 1), MOST_RETRY_SECONDS);
}

function failed(what: string, cause: unknown): ToolgateError {
  return new ToolgateError("TOOL_FAILED", `inference_chat: ${what}; nothing was charged`, { cause });
}

function unavailable(what: string, retryAfterSeconds: number, cause: unknown): ToolgateError {
  return new ToolgateError(
    "UNAVAILABLE",
    `inference_chat: ${what}; nothing was charged, try again in ${retryAfterSeconds} s`,
    {
      retryAfterSeconds,
      cause,
    },
  );
}
