import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestRecorder } from "../../app/operations/request-record.ts";
import type { HttpHandler } from "./dispatch.ts";
import { splitTarget } from "./json-routes.ts";
import type { OriginPolicy } from "./origin-policy.ts";
import { recordUntilClosed } from "./response.ts";

/** Every header of ours that a page may need. */
const EXPOSED_HEADERS =
  "x-request-id, ratelimit, ratelimit-policy, payment-receipt, " +
  "x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, " +
  "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, retry-after, " +
  "request-id, anthropic-ratelimit-requests-limit, anthropic-ratelimit-requests-remaining, " +
  "anthropic-ratelimit-requests-reset, " +
  "www-authenticate, allow, payment-required, payment-response, x-payment-response, preference-applied, " +
  "mcp-session-id, grpc-status, grpc-message, grpc-status-details-bin, grpc-accept-encoding";

/** Names of headers (RFC 9110 section 5.6.2). */
const NAMES = /[\w!#$%&'*+.^`|~-]+/g;

/** What pages of other origins may call, if the policy allows it. */
interface OpenPath {
  readonly path: string;
  readonly policy: OriginPolicy;
}

/**
 * Allows requests of the listed origins (Fetch standard, CORS), at the open path also of those that its
 * policy allows, and answers preflights. Elsewhere sends no header without a list.
 */
export class Cors implements HttpHandler {
  readonly #origins: ReadonlySet<string>;
  readonly #open: OpenPath;
  readonly #requests: RequestRecorder;

  constructor(origins: readonly string[], open: OpenPath, requests: RequestRecorder) {
    this.#origins = new Set(origins);
    this.#open = open;
    this.#requests = requests;
  }

  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const { origin } = request.headers;
    const isOpen = origin !== undefined && splitTarget(request.url ?? "/").path === this.#open.path;
    if (this.#origins.size === 0 && !isOpen) return false;
    response.setHeader("Vary", "Origin");
    if (origin === undefined) return false;
    if (!this.#origins.has(origin) && !(isOpen && this.#open.policy.allows(request))) return false;
    response.setHeader("Access-Control-Allow-Origin", origin);
    response.setHeader("Access-Control-Expose-Headers", EXPOSED_HEADERS);
    if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined)
      return false;
    response.writeHead(204, {
      "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
      ...allowedHeaders(request),
      "Access-Control-Max-Age": "7200",
    });
    recordUntilClosed(this.#requests, "http", "preflight", response);
    response.end();
    return true;
  }
}

/** Allows the headers that are asked for: clients send their own, and none of them decides anything here. */
export function allowedHeaders({ headers }: IncomingMessage): Record<string, string> {
  const names = headers["access-control-request-headers"]?.match(NAMES) ?? [];
  return names.length === 0 ? {} : { "Access-Control-Allow-Headers": names.join(", ") };
}
