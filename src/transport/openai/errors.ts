import type { Clock } from "../../domain/core/clock.ts";
import type { Header } from "../headers.ts";
import type { HttpResponse } from "../http/response.ts";

/** The member that an error names first, such as `messages[0].content`. */
const PARAM = /^(?:params\.)?([\w.[\]-]+): /;

/** Returns a contract error that is one of the OpenAI API too: `error` beside our members. */
export function openAiError(answer: HttpResponse): HttpResponse {
  const { status, json, refusal = {} } = answer;
  if (typeof json !== "object" || json === null || !("code" in json) || !("message" in json)) return answer;
  const { code } = json;
  const named = String(json.message);
  const message = named.replaceAll(/\bparams\./g, "");
  const param = code === "INVALID_REQUEST" ? (PARAM.exec(named)?.[1] ?? null) : null;
  // Clients know these words, such as `context_length_exceeded`.
  const error = { message, type: typeOf(status), code, param, ...refusal };
  return { ...answer, json: { ...json, message, error } };
}

/** OpenAI API, "Error codes". */
function typeOf(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 402:
      return "insufficient_quota";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

/** The names that OpenAI gives the rate limit's headers (OpenAI API, "Rate limits"). */
const SAME: Readonly<Record<string, string>> = {
  "x-ratelimit-limit": "x-ratelimit-limit-requests",
  "x-ratelimit-remaining": "x-ratelimit-remaining-requests",
};

/** Returns the rate limit headers under OpenAI's names; the reset is a duration there. */
export function openAiRateHeaders(headers: readonly Header[], clock: Clock): Header[] {
  return headers.flatMap(([name, value]): Header[] => {
    if (name === "x-ratelimit-reset") {
      const seconds = Math.max(0, Number(value) - Math.floor(clock.now() / 1_000));
      return [["x-ratelimit-reset-requests", `${seconds}s`]];
    }
    const same = SAME[name];
    return same === undefined ? [] : [[same, value]];
  });
}
