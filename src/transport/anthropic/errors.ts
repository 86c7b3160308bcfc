import type { Clock } from "../../domain/core/clock.ts";
import type { Header } from "../headers.ts";
import type { HttpResponse } from "../http/response.ts";

/** Anthropic API, "Errors". */
const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

const OVERLOADED = 529;

/** Returns a contract error that is one of Anthropic's API too: `error` beside our members. */
export function anthropicError(answer: HttpResponse): HttpResponse {
  const { json, refusal = {} } = answer;
  if (typeof json !== "object" || json === null || !("code" in json) || !("message" in json)) return answer;
  const message = String(json.message).replaceAll(/\bparams\./g, "");
  // Its clients repeat a call after this status.
  const status = json.code === "UNAVAILABLE" ? OVERLOADED : answer.status;
  const type = TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  const details = refusal.code === undefined ? {} : { details: { error_code: refusal.code } };
  return {
    ...answer,
    status,
    json: { ...json, message, type: "error", error: { type, message, ...details } },
  };
}

/** Returns the rate limit headers and the id of the request under Anthropic's names; the reset is a time. */
export function anthropicHeaders(headers: readonly Header[], _clock: Clock): Header[] {
  return headers.flatMap(([name, value]): Header[] => {
    switch (name) {
      case "x-request-id":
        return [["request-id", value]];
      case "x-ratelimit-limit":
        return [["anthropic-ratelimit-requests-limit", value]];
      case "x-ratelimit-remaining":
        return [["anthropic-ratelimit-requests-remaining", value]];
      case "x-ratelimit-reset":
        return [["anthropic-ratelimit-requests-reset", new Date(Number(value) * 1_000).toISOString()]];
      default:
        return [];
    }
  });
}
