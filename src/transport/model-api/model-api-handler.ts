import type { IncomingMessage, ServerResponse } from "node:http";
import type { Transport } from "../../app/operations/request-record.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { Header } from "../headers.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { requireHost } from "../http/request-head.ts";
import type { FoundRoute } from "../http/json-routes.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Operation } from "../pipeline.ts";
import { ModelCalls, type ModelCallsDeps } from "./model-calls.ts";

/** An API of language models over HTTP: what differs from the others. */
export interface ModelApiRoutes {
  readonly transport: Transport;
  /** Where its paths begin. */
  readonly base: string;
  /** Returns the tool that a path calls; undefined: none. */
  toolOf(path: string): string | undefined;
  /** Returns the contract's path whose rules apply to another path. @throws ToolgateError NOT_FOUND */
  contractPath(path: string): string;
  /** Largest body; undefined: as the contract has it. */
  bodyLimit(path: string, calls: ModelCalls): number | undefined;
  answer(
    exchange: HttpExchange,
    operation: Operation,
    body: Buffer,
    calls: ModelCalls,
  ): HttpResponse | Promise<HttpResponse>;
  /** Returns a contract error that is one of the API too. */
  errorOf(answer: HttpResponse): HttpResponse;
  /** Returns headers under the API's names. */
  headersOf(headers: readonly Header[], clock: Clock): Header[];
}

/** Before the paths of an API, where wallets buy its calls without an API key. */
const SOLD = "/x402";

/** After the path of a call: its price is asked for. */
const PRICE = "/price";

type Asked = "call" | "price";

export class ModelApiHandler implements HttpHandler {
  readonly #deps: ModelCallsDeps;
  readonly #api: ModelApiRoutes;
  readonly #calls: ModelCalls;

  constructor(deps: ModelCallsDeps, api: ModelApiRoutes) {
    this.#deps = deps;
    this.#api = api;
    this.#calls = new ModelCalls(deps, (answer) => api.errorOf(answer));
  }

  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    const { url = "" } = request;
    const isSold = url.startsWith(SOLD + this.#api.base);
    if (!isSold && !url.startsWith(this.#api.base)) return false;
    const exchange = this.#deps.routes.open(this.#api.transport, request, response, gone);
    const path = isSold ? exchange.path.slice(SOLD.length) : exchange.path;
    const called = path.endsWith(PRICE) && !isSold ? path.slice(0, -PRICE.length) : undefined;
    if (called !== undefined && this.#api.toolOf(called) !== undefined)
      void this.#serve({ ...exchange, path: called, resource: called }, "price");
    else void this.#serve({ ...exchange, path }, "call");
    return true;
  }

  #find(exchange: HttpExchange, asked: Asked): FoundRoute {
    const { routes } = this.#deps;
    const { path, resource } = exchange;
    const tool = this.#api.toolOf(path);
    // Large bodies are read for accounts only.
    if (tool !== undefined && resource !== path) return routes.find(exchange, `${SOLD}/${tool}`);
    const contractPath = tool === undefined ? this.#api.contractPath(path) : `/v1/mcp/tools/${asked}`;
    return routes.find(exchange, contractPath, this.#api.bodyLimit(path, this.#calls));
  }

  async #serve(exchange: HttpExchange, asked: Asked): Promise<void> {
    const { routes, pipeline, clock } = this.#deps;
    const { headers, record } = exchange;
    let named: readonly Header[] = headers;
    try {
      requireHost(exchange.request);
      const found = this.#find(exchange, asked);
      const arriving = routes.read(exchange, found, await routes.authenticate(exchange, found));
      const body = arriving instanceof Promise ? await arriving : arriving;
      headers.push(...this.#api.headersOf(headers, clock));
      named = [];
      const answer = pipeline.time.measure(record, () =>
        this.#api.answer(exchange, found.operation, body, this.#calls),
      );
      routes.send(exchange, answer instanceof Promise ? await answer : answer);
    } catch (error) {
      const answer = routes.errorResponse(exchange, error);
      headers.push(...this.#api.headersOf([...named, ...(answer.headers ?? [])], clock));
      routes.send(exchange, this.#api.errorOf(answer));
    }
  }
}
