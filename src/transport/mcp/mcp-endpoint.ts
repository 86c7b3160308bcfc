import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonObject } from "../../domain/core/json.ts";
import type { JsonExchange, JsonRoutes } from "../http/json-routes.ts";
import type { OriginPolicy } from "../http/origin-policy.ts";
import type { HttpResponse } from "../http/response.ts";
import { McpExchange } from "./exchange.ts";
import type { McpHandler } from "./mcp-handler.ts";
import { mergeRpcError } from "./merged-error.ts";
import { parseMessage, UnreadableMessageError } from "./unreadable-message.ts";

/** Path of the MCP endpoint (specification 4.2). */
export const MCP_PATH = "/mcp";

/** Dependencies of the MCP endpoint. */
export interface McpEndpointDeps {
  readonly routes: JsonRoutes;
  readonly mcp: McpHandler;
  /** Origins whose pages may call the endpoint. */
  readonly originPolicy: OriginPolicy;
}

/** The HTTP handler of {@link MCP_PATH}: accepts JSON-RPC and the contract's plain tool calls. */
export class McpEndpoint {
  readonly #deps: McpEndpointDeps;

  constructor(deps: McpEndpointDeps) {
    this.#deps = deps;
  }

  /**
   * Serves one request. Never throws.
   * @param gone aborts when the client disconnects before the response
   */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    return this.#deps.routes.handle(request, response, gone, (exchange) => this.#respond(exchange));
  }

  async #respond(exchange: JsonExchange): Promise<HttpResponse> {
    const { routes, originPolicy } = this.#deps;
    originPolicy.require(exchange.request);
    const call = await routes.read(exchange);
    try {
      const body = parseMessage(call.body);
      const context = routes.context(exchange, call, "prefix");
      if (!isJsonRpc(body)) return await routes.invoke(exchange, call, body, context);
      const { request, response, headers: responseHeaders } = exchange;
      const { failed } = routes;
      return await this.#answer(
        new McpExchange({ request, response, body, context, responseHeaders, failed }),
      );
    } catch (error) {
      if (!(error instanceof UnreadableMessageError)) throw error;
      return mergeRpcError(routes.errorResponse(exchange, error), null, error.rpcCode, error.message);
    }
  }

  async #answer(exchange: McpExchange): Promise<HttpResponse> {
    const answer = await this.#deps.mcp.answer(exchange);
    return exchange.stream ? { ...answer, stream: exchange.stream } : answer;
  }
}

/** Only an object without `jsonrpc` is a plain tool call. */
function isJsonRpc(body: unknown): boolean {
  return !isJsonObject(body) || Object.hasOwn(body, "jsonrpc");
}
