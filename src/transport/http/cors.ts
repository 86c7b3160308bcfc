import type { IncomingMessage, ServerResponse } from "node:http";

const ALLOWED_HEADERS =
  "authorization, content-type, idempotency-key, prefer, x-payment, payment-signature, sign-in-with-x, " +
  "mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, " +
  "connect-protocol-version, connect-timeout-ms, x-grpc-web, x-user-agent, grpc-timeout";
const EXPOSED_HEADERS =
  "x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, " +
  "payment-required, payment-response, preference-applied, " +
  "grpc-status, grpc-message, grpc-status-details-bin";

/** Mcp-Param-* headers repeat tool arguments (MCP, Streamable HTTP); their names depend on the tools. */
const MIRRORED = /mcp-param-[\w-]+/gi;

/** Characters of Access-Control-Request-Headers that are parsed. */
const MAX_REQUESTED_HEADERS = 2_048;

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
    const asked = request.headers["access-control-request-headers"]?.slice(0, MAX_REQUESTED_HEADERS) ?? "";
    response.writeHead(204, {
      "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE",
      "Access-Control-Allow-Headers": [ALLOWED_HEADERS, ...(asked.match(MIRRORED) ?? [])].join(", "),
      "Access-Control-Max-Age": "7200",
    });
    response.end();
    return true;
  }
}
