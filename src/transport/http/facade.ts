import type { IncomingMessage, ServerResponse } from "node:http";
import { parseBody } from "#httpjson/runtime/index.ts";
import { namesTool } from "../limits.ts";
import type { MessageSizes } from "../message-size.ts";
import {
  type JsonCall,
  type JsonExchange,
  type JsonHandler,
  type JsonRoutes,
  toolOf,
} from "./json-routes.ts";
import type { HttpResponse } from "./response.ts";

/** HTTP/JSON: serves the contract's paths by the generated routes. */
export class Facade implements JsonHandler {
  readonly transport = "http";
  readonly #routes: JsonRoutes;
  readonly #sizes: MessageSizes;

  constructor(routes: JsonRoutes, sizes: MessageSizes) {
    this.#routes = routes;
    this.#sizes = sizes;
  }

  /** Serves one request. Never throws. @param gone aborts when the client disconnects before the response */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    return this.#routes.handle(request, response, gone, this);
  }

  respond(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse> {
    const { method, endpoint } = call.operation;
    const tool = endpoint.key === "wallet" ? toolOf(exchange.path) : undefined;
    if (namesTool(method)) this.#sizes.requireJson(call.body, tool);
    const body = parseBody(call.body);
    return this.#routes.invoke(exchange, call, body, this.#routes.context(exchange, call, "step"));
  }
}
