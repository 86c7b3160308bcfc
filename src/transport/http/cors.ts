import type { IncomingMessage, ServerResponse } from "node:http";

/** Every header of ours that a page may need. */
const EXPOSED_HEADERS =
  "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, " +
  "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, retry-after, " +
  "www-authenticate, allow, payment-required, payment-response, x-payment-response, preference-applied, " +
  "grpc-status, grpc-message, grpc-status-details-bin, grpc-accept-encoding";

/** Names of headers (RFC 9110 section 5.6.2). */
const NAMES = /[\w!#$%&'*+.^`|~-]+/g;

/** Allows requests of the listed origins (Fetch standard, CORS). Sends no header without a list. */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** Sets the headers for an origin. @returns whether it was a preflight, which is answered */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#origins.size === 0) return false;
    const { origin } = request.headers;
    response.setHeader("Vary", "Origin");
    if (origin === undefined || !this.#origins.has(origin)) return false;
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Access-Control-Expose-Headers", EXPOSED_HEADERS);
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined)
      return false;
    response.writeHead(204, {
      "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
      ...allowedHeaders(request),
      "Access-Control-Max-Age": "7200",
    });
    response.end();
    return true;
  }
}

/** Allows the headers that are asked for: clients send their own, and none of them decides anything here. */
export function allowedHeaders({ headers }: IncomingMessage): Record<string, string> {
  const names = headers["access-control-request-headers"]?.match(NAMES) ?? [];
  return names.length === 0 ? {} : { "Access-Control-Allow-Headers": names.join(", ") };
}
