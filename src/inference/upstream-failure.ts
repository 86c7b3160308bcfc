import { APIError } from "openai";
import { ToolgateError, type ErrorCode } from "../domain/core/errors.ts";
import { neverConnected } from "../outbound/guarded-fetch.ts";

/** Retry-After when the server sends none, and the highest value passed on to callers. */
const DEFAULT_RETRY_SECONDS = 5;
const MAX_RETRY_SECONDS = 300;

/** What a failure means for the server's health. "served": the request was at fault. "unknown": nothing. */
export type Verdict = "unreachable" | "broken" | "busy" | "served" | "unknown";

export class ModelServerError extends ToolgateError {
  readonly verdict: Verdict;
  /** Certainly not computed, so another server may be tried. */
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
    super(code, `inference: ${what}; nothing was charged${when}`, {
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(cause !== undefined && { cause }),
      worked,
    });
    this.verdict = verdict;
    this.canFailOver = elsewhere;
  }
}

export interface RequestState {
  /** The gateway is shutting down. */
  readonly stopped: boolean;
  /** The time limit that expired, ms, and whether no chunk had arrived. */
  readonly late: { readonly timeoutMs: number; readonly silent: boolean } | undefined;
  /** The stream stalled for this many ms; `silent`: before its first chunk. */
  readonly stalled: { readonly pauseMs: number; readonly silent: boolean } | undefined;
}

/** Maps a failure for the caller. Server, address, key and the server's words stay in the cause. */
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
  // A server that still streams at the time limit may just have had much to do.
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

/** An unusable response; no other server is tried. @param more.worked false if nothing was computed */
export function unusable(
  what: string,
  cause: unknown,
  { verdict = "broken", worked = true }: { verdict?: Verdict; worked?: boolean } = {},
): ModelServerError {
  return new ModelServerError("TOOL_FAILED", what, { verdict, worked, cause });
}

/** The caller disconnected before there was anything to deliver. */
export function cancelled(cause: unknown): ModelServerError {
  return new ModelServerError("CANCELLED", "the caller disconnected before the model answered", {
    verdict: "unknown",
    worked: true,
    cause,
  });
}

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
  // The server is healthy, but does not have the model.
  if (status === 404)
    return new ModelServerError("TOOL_FAILED", "the model server failed (HTTP 404)", {
      verdict: "served",
      elsewhere: true,
      cause,
    });
  if (status === 400 || status === 413 || status === 422) {
    return unusable(
      `the model server refused the request (HTTP ${status}); it may be too long for the model ` +
        "together with max_tokens",
      cause,
      { verdict: "served", worked: false },
    );
  }
  return unusable(`the model server failed (HTTP ${String(status)})`, cause, { worked: false });
}

/** Seconds of `Retry-After` (RFC 9110, 10.2.3). Its date form would depend on the server's clock. */
function retryAfter(headers: unknown): number {
  const text = headers instanceof Headers ? (headers.get("retry-after") ?? "") : "";
  if (!/^\d{1,6}$/.test(text)) return DEFAULT_RETRY_SECONDS;
  return Math.min(Math.max(Number(text), 1), MAX_RETRY_SECONDS);
}
