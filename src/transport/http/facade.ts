import type { IncomingMessage, ServerResponse } from "node:http";
import { parseBody } from "#httpjson/runtime/index.ts";
import type { JsonCall, JsonExchange, JsonHandler, JsonRoutes } from "./json-routes.ts";
import type { HttpResponse } from "./response.ts";

/** HTTP/JSON: serves the contract's paths by the generated routes. */
export class Facade implements JsonHandler {
  readonly transport = "http";
  readonly #routes: JsonRoutes;

  constructor(routes: JsonRoutes) {
    this.#routes = routes;
  }

  /**
   * Serves one request. Never throws.
   * @param gone aborts when the client disconnects before the response
   */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    return this.#routes.handle(request, response, gone, this);
  }

  respond(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse> {
    const body = parseBody(call.body);
    return this.#routes.invoke(exchange, call, body, this.#routes.context(exchange, call, "step"));
  }
}
