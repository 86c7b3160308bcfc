import { APIError } from "openai";
import { ToolgateError, type ErrorCode } from "../domain/errors.ts";
import { neverConnected } from "../outbound/guarded-fetch.ts";

/** Seconds to wait when a busy server does not say how long, and the most that is passed on when it does. */
const DEFAULT_RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/**
 * What a failed call says of its server: it was not reached; it is broken; it is busy and wants to be left alone; it served the call as well
 * as the call could be served; or nothing at all, since the call ended for another reason.
 */
export type Verdict = "unreachable" | "broken" | "busy" | "served" | "unknown";

/** A call that a model server did not do. */
export class ModelServerError extends ToolgateError {
  readonly verdict: Verdict;
  /** The answer was surely not computed, so another server may be asked. */
  readonly canFailOver: boolean;

  constructor(
    code: ErrorCode,
    what: string,
    more: {
      verdict: Verdict;
      elsewhere?: boolean;
      worked?: boolean;
      retryAfterSeconds?: number;
      cause?: unknown;
    },
  ) {
    const { verdict, elsewhere = false, worked = false, retryAfterSeconds, cause } = more;
    const when = retryAfterSeconds === undefined ? "" : `, try again in ${retryAfterSeconds} s`;
    super(code, `inference_chat: ${what}; nothing was charged${when}`, {
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(cause !== undefined && { cause }),
      worked,
    });
    this.verdict = verdict;
    this.canFailOver = elsewhere;
  }
}

/** What is known about a failed request besides the error. */
export interface RequestState {
  /** The gateway itself gave the work up. */
  readonly stopped: boolean;
  /** Which time limit ran out, in ms, and whether anything had arrived by then. */
  readonly late: { readonly timeoutMs: number; readonly silent: boolean } | undefined;
  /** The pieces of a streamed answer stopped coming for so many ms, or never began to. */
  readonly stalled: { readonly pauseMs: number; readonly silent: boolean } | undefined;
}

/**
 * What the caller is told when a model server fails. Server, address, key and the server's own words stay in the cause, for the log:
 * they are the operator's, not the caller's.
 */
export function upstreamFailure(cause: unknown, { stopped, late, stalled }: RequestState): ModelServerError {
  if (stopped)
    return new ModelServerError("UNAVAILABLE", "the service is shutting down", {
      verdict: "unknown",
      retryAfterSeconds: DEFAULT_RETRY_SECONDS,
      cause,
    });
  if (stalled) {
    const where = stalled.silent ? "before the first piece" : "in the middle";
    return unusable(`the model server stopped ${where} of its answer for ${stalled.pauseMs / 1000} s`, cause);
  }
  // Who still answers when the time is up may only have been asked for much.
  if (late)
    return unusable(`the model server did not answer within ${late.timeoutMs / 1000} s`, cause, {
      verdict: late.silent ? "broken" : "unknown",
    });
  if (cause instanceof ModelServerError) return cause;
  if (neverConnected(cause))
    return new ModelServerError("TOOL_FAILED", "the model server cannot be reached", {
      verdict: "unreachable",
      elsewhere: true,
      cause,
    });
  if (cause instanceof APIError && cause.status !== undefined)
    return refusal(cause.status, cause.headers, cause);
  return unusable("the connection to the model server broke", cause);
}

/**
 * The server answered, but nothing that could be sold. Whether it computed an answer cannot be known, so no other one is asked.
 * @param more.worked whether it may have computed one, which is the case unless it says otherwise
 */
export function unusable(
  what: string,
  cause: unknown,
  { verdict = "broken", worked = true }: { verdict?: Verdict; worked?: boolean } = {},
): ModelServerError {
  return new ModelServerError("TOOL_FAILED", what, { verdict, worked, cause });
}

/** No server for the model can be asked at present. */
export function busy(retryAfterSeconds: number, cause: unknown): ModelServerError {
  return new ModelServerError("UNAVAILABLE", "the model server is busy", {
    verdict: "busy",
    elsewhere: true,
    retryAfterSeconds,
    cause,
  });
}

function refusal(status: unknown, headers: unknown, cause: Error): ModelServerError {
  if (status === 429 || status === 503) return busy(retryAfter(headers), cause);
  if (status === 401 || status === 402 || status === 403)
    return new ModelServerError("TOOL_FAILED", "the model server refused the operator's credentials", {
      verdict: "broken",
      elsewhere: true,
      cause,
    });
  // The server is well, but does not know the model, any more or yet.
  if (status === 404)
    return new ModelServerError("TOOL_FAILED", "the model server failed (HTTP 404)", {
      verdict: "served",
      elsewhere: true,
      cause,
    });
  if (status === 400 || status === 413 || status === 422) {
    return unusable(
      `the model server refused the conversation (HTTP ${status}); it may be too long for the model together with max_tokens`,
      cause,
      { verdict: "served", worked: false },
    );
  }
  return unusable(`the model server failed (HTTP ${String(status)})`, cause, { worked: false });
}

/** `Retry-After` in seconds (RFC 9110, 10.2.3); its date form is not worth trusting a foreign clock. */
function retryAfter(headers: unknown): number {
  const text = headers instanceof Headers ? (headers.get("retry-after") ?? "") : "";
  if (!/^\d{1,6}$/.test(text)) return DEFAULT_RETRY_SECONDS;
  return Math.min(Math.max(Number(text), 1), MAX_RETRY_SECONDS);
}
