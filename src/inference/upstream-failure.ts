import { ToolgateError, type ErrorCode } from "../domain/core/errors.ts";
import { neverConnected } from "../outbound/guarded-fetch.ts";
import { retryAfterOf } from "../outbound/retry-after.ts";
import { refusalOf, StatusError, type SaidRefusal } from "./refusal.ts";

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
      status?: number;
      said?: Pick<SaidRefusal, "status" | "refusal"> | undefined;
      cause?: unknown;
    },
  ) {
    const { verdict, elsewhere = false, worked = false, retryAfterSeconds, status, said, cause } = more;
    const when = retryAfterSeconds === undefined ? "" : `, try again in ${retryAfterSeconds} s`;
    super(code, `inference: ${what}; nothing was charged${when}`, {
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      ...(cause !== undefined && { cause }),
      ...(status !== undefined && { status }),
      ...(said && { status: said.status, rpc: "INVALID_ARGUMENT", refusal: said.refusal }),
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

/**
 * Maps a failure for the caller. Server, address and key stay in the cause.
 * @param shown returns what the caller may read of a server's words
 */
export function upstreamFailure(
  cause: unknown,
  { stopped, late, stalled }: RequestState,
  shown: (words: string) => string = () => "",
): ModelServerError {
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
  if (cause instanceof StatusError) return refusal(cause, shown);
  return unusable("the connection to the model server broke", cause);
}

interface UnusableOptions {
  readonly verdict?: Verdict;
  readonly worked?: boolean;
  /** Undefined: the request is not at fault. */
  readonly said?: SaidRefusal | undefined;
}

/** An unusable response; no other server is tried. @param more.worked false if nothing was computed */
export function unusable(
  what: string,
  cause: unknown,
  { verdict = "broken", worked = true, said }: UnusableOptions = {},
): ModelServerError {
  return new ModelServerError("TOOL_FAILED", what, { verdict, worked, said, cause });
}

/** The caller disconnected before there was anything to deliver. */
export function cancelled(cause: unknown): ModelServerError {
  return new ModelServerError("CANCELLED", "the caller disconnected before the model answered", {
    verdict: "unknown",
    worked: true,
    cause,
  });
}

/** @param status 429: the server limits what the gateway sends to it */
export function busy(retryAfterSeconds: number, cause: unknown, status = 503): ModelServerError {
  return new ModelServerError("UNAVAILABLE", "the model server is busy", {
    verdict: "busy",
    elsewhere: true,
    retryAfterSeconds,
    status,
    cause,
  });
}

function refusal(cause: StatusError, shown: (words: string) => string): ModelServerError {
  const { status, headers, error } = cause;
  // 529: Anthropic's "overloaded".
  if (status === 429 || status === 503 || status === 529) {
    const seconds = retryAfterOf(headers, MAX_RETRY_SECONDS) ?? DEFAULT_RETRY_SECONDS;
    return busy(seconds, cause, status === 429 ? status : undefined);
  }
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
  const said = refusalOf(status, error);
  if (said) {
    const known = Object.entries(said.refusal).filter(([, word]) => shown(word) === word);
    const words = shown(said.words) || "it may be too long for the model together with max_tokens";
    const what = `the model server refused the request (HTTP ${status}): ${words}`;
    return unusable(what, cause, {
      verdict: "served",
      said: { ...said, refusal: Object.fromEntries(known) },
    });
  }
  return unusable(`the model server failed (HTTP ${status})`, cause, { worked: false });
}
