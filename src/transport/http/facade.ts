import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createErrorBody,
  isJsonContentType,
  JsonFieldError,
  parseBody,
  type ErrorBinding,
  type Transcoder,
} from "#httpjson/runtime/index.ts";
import type { Random } from "../../domain/core/clock.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { isJsonObject } from "../../domain/core/json.ts";
import type { Failure } from "../error-details.ts";
import type { Header } from "../header.ts";
import { McpExchange } from "../mcp/exchange.ts";
import { mergeRpcError } from "../mcp/merged-error.ts";
import type { McpHandler } from "../mcp/mcp-handler.ts";
import { parseMessage, UnreadableMessageError } from "../mcp/unreadable-message.ts";
import { messageLimit } from "../message-limits.ts";
import type { Pipeline } from "../pipeline.ts";
import { rateLimitHeaders } from "../rate-limit-headers.ts";
import { RequestIds, type RequestContext } from "../request-context.ts";
import { sharedEncoding } from "../shared-message.ts";
import { bodyWithV1 } from "../x402/offers.ts";
import { send, type HttpResponse } from "./response.ts";
import { checkDeclaredLength, hasBody, readBody } from "./body.ts";
import type { OriginPolicy } from "./origin-policy.ts";
import { credentialsOf, requireHost, requireIdentityCoding, singleHeader } from "./request-head.ts";
import { rawResponse } from "./parse-error.ts";

type RouteMatch = Parameters<Transcoder["read"]>[0];

/** Dependencies of the HTTP/JSON facade. */
export interface FacadeDeps {
  readonly pipeline: Pipeline;
  readonly transcoder: Transcoder;
  readonly errorBindings: readonly ErrorBinding[];
  readonly mcp: McpHandler;
  /** Origins whose pages may call the MCP endpoint. */
  readonly originPolicy: OriginPolicy;
  readonly random: Random;
  readonly bodyLimit: number;
}

/** A request and its response so far. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly gone: AbortSignal;
  readonly requestId: string;
  readonly headers: Header[];
}

/** The MCP endpoint (specification 4.2) accepts JSON-RPC and plain tool calls. */
const MCP_PATH = "/mcp";

/** HTTP/JSON: serves the contract's paths by the generated routes. */
export class Facade {
  readonly #deps: FacadeDeps;
  readonly #requestIds: RequestIds;
  readonly #errorBody: ReturnType<typeof createErrorBody>;

  constructor(deps: FacadeDeps) {
    this.#deps = deps;
    this.#requestIds = new RequestIds(deps.random);
    this.#errorBody = createErrorBody(deps.errorBindings);
  }

  /**
   * Serves one request. Never throws.
   * @param gone aborts when the client disconnects before the response
   */
  async handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    const requestId = this.#requestIds.next();
    const headers: Header[] = [["x-request-id", requestId]];
    try {
      send(response, headers, await this.#serve({ request, response, gone, requestId, headers }));
    } catch (error) {
      if (error instanceof MethodNotAllowedError) headers.push(["allow", error.allow]);
      if (!request.complete) headers.push(["connection", "close"]);
      const failed = this.failed(this.#deps.pipeline.failure(asToolgateError(error), requestId));
      const unreadable = error instanceof UnreadableMessageError;
      send(
        response,
        headers,
        unreadable ? mergeRpcError(failed, null, error.rpcCode, error.message) : failed,
      );
    }
  }

  /** Returns the response to bytes that are not a request, for the socket. */
  refusal(error: ToolgateError): string {
    const requestId = this.#requestIds.next();
    return rawResponse(
      [["x-request-id", requestId]],
      this.failed(this.#deps.pipeline.failure(error, requestId)),
    );
  }

  /** Builds the response of a failed call: status and body from the generated error table. */
  readonly failed = (failure: Failure): HttpResponse => {
    const body = this.#errorBody([failure.detail.message]);
    const json = bodyWithV1(body?.json, failure.offer);
    return { status: body?.status ?? failure.error.status, json, headers: failure.headers };
  };

  async #serve({ request, response, gone, requestId, headers }: Exchange): Promise<HttpResponse> {
    const { pipeline, transcoder, bodyLimit, mcp, originPolicy } = this.#deps;
    requireHost(request);
    const { path, query } = splitTarget(request.url ?? "/");
    if (path === MCP_PATH) originPolicy.require(request);
    const match = findRoute(transcoder, request.method ?? "GET", path);
    const operation = pipeline.operation(match.route.method);
    const limit = messageLimit(operation.endpoint, bodyLimit);
    checkDeclaredLength(request, limit);
    requireIdentityCoding(request);
    if (hasBody(request) && !isJsonContentType(request.headers["content-type"])) {
      throw new ToolgateError("UNSUPPORTED_MEDIA_TYPE", "content-type: must be application/json");
    }
    const { caller, rate } = await pipeline.authenticate(operation, credentialsOf(request));
    if (rate) headers.push(...rateLimitHeaders(rate));
    const arriving = readBody(request, limit);
    const bytes = arriving instanceof Promise ? await arriving : arriving;
    const body = path === MCP_PATH ? parseMessage(bytes) : parseBody(bytes);
    const context: RequestContext = {
      caller,
      requestId,
      signal: gone,
      xPayment: singleHeader(request, "x-payment"),
      paymentSignature: singleHeader(request, "payment-signature"),
      path,
      idempotencyKey: singleHeader(request, "idempotency-key"),
      onSettlement: ({ header }) => headers.push(header),
      memoForm: path === MCP_PATH ? "prefix" : "step",
    };
    if (path === MCP_PATH && isJsonRpc(body)) {
      const { failed } = this;
      const exchange = new McpExchange({
        request,
        response,
        body,
        context,
        responseHeaders: headers,
        failed,
      });
      const answer = await mcp.answer(exchange);
      return exchange.stream ? { ...answer, stream: exchange.stream } : answer;
    }
    const message = await pipeline.invoke(operation, transcoder.read(match, query, body), context);
    const shared = sharedEncoding(message, "json", () => JSON.stringify(match.route.write(message)));
    return shared ? { status: 200, body: shared } : { status: 200, json: match.route.write(message) };
  }
}

function findRoute(transcoder: Transcoder, method: string, path: string): RouteMatch {
  // HEAD is GET without the body (RFC 9110 section 9.3.2), which Node omits.
  const match = transcoder.match(method === "HEAD" ? "GET" : method, path);
  if ("route" in match) return match;
  if (match.status === 404) throw new ToolgateError("NOT_FOUND", "no route matches this path");
  throw new MethodNotAllowedError(
    match.allow.flatMap((allowed) => (allowed === "GET" ? ["GET", "HEAD"] : [allowed])),
  );
}

/** METHOD_NOT_ALLOWED with the Allow header (RFC 9110 section 15.5.6). */
class MethodNotAllowedError extends ToolgateError {
  readonly allow: string;

  constructor(allow: readonly string[]) {
    super("METHOD_NOT_ALLOWED", `this path supports ${allow.join(", ")}`);
    this.allow = allow.join(", ");
  }
}

function asToolgateError(error: unknown): unknown {
  return error instanceof JsonFieldError ? new ToolgateError("INVALID_REQUEST", error.message) : error;
}

function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf("?");
  return mark < 0
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** Only an object without `jsonrpc` is a plain tool call. */
function isJsonRpc(body: unknown): boolean {
  return !isJsonObject(body) || Object.hasOwn(body, "jsonrpc");
}
