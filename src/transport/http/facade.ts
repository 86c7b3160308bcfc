import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonContentType, JsonFieldError, parseBody } from "#httpjson/runtime/index.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { namesTool } from "../limits.ts";
import type { Pipeline } from "../pipeline.ts";
import type { SoldTools } from "../x402/sold-tools.ts";
import {
  isProbe,
  type JsonCall,
  type JsonExchange,
  type JsonHandler,
  type JsonRoutes,
  toolOf,
} from "./json-routes.ts";
import { requireIdentityCoding } from "./request-head.ts";
import type { HttpResponse } from "./response.ts";

/** HTTP/JSON: serves the contract's paths by the generated routes. */
export class Facade implements JsonHandler {
  readonly transport = "http";
  readonly #routes: JsonRoutes;
  readonly #pipeline: Pipeline;
  readonly #sold: Pick<SoldTools, "byName">;

  constructor(routes: JsonRoutes, pipeline: Pipeline, sold: Pick<SoldTools, "byName">) {
    this.#routes = routes;
    this.#pipeline = pipeline;
    this.#sold = sold;
  }

  /** Serves one request. Never throws. @param gone aborts when the client disconnects before the response */
  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<void> {
    return this.#routes.handle(request, response, gone, this);
  }

  respond(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse> {
    if (isProbe(exchange.request, call.operation)) return this.#offer(exchange, call);
    return this.#routes.invoke(
      exchange,
      call,
      this.#bodyOf(exchange, call),
      this.#routes.context(exchange, call, "step"),
    );
  }

  #bodyOf({ path }: JsonExchange, { operation: { method, endpoint }, body }: JsonCall): unknown {
    if (namesTool(method))
      this.#pipeline.sizes.requireJson(body, endpoint.key === "wallet" ? toolOf(path) : undefined);
    return parseBody(body);
  }

  /**
   * Answers a call without a payment: with its own terms or, if it cannot be read, with those of the tool's
   * example. Indexers demand a 402 before any check. What is paid is checked again.
   */
  #offer(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse> {
    const { request, record, path } = exchange;
    const unread = { ...exchange, query: "" };
    const context = this.#routes.context(exchange, call, "step");
    const exampleTerms = (problem: unknown) => {
      const unreadable = problemOf(problem);
      if (unreadable === undefined) throw problem;
      const example = this.#sold.byName().get(toolOf(path))?.example ?? {};
      return this.#routes.invoke(unread, call, example, { ...context, unreadable });
    };
    try {
      requireReadable(request);
      const answer = this.#routes.invoke(unread, call, this.#bodyOf(exchange, call), context);
      if (!(answer instanceof Promise)) return answer;
      return answer.catch((error) => this.#pipeline.time.measure(record, () => exampleTerms(error)));
    } catch (error) {
      return exampleTerms(error);
    }
  }
}

/** @throws ToolgateError INVALID_REQUEST, UNSUPPORTED_MEDIA_TYPE */
function requireReadable(request: IncomingMessage): void {
  if (request.method !== "POST") throw invalidField("body", "send the parameters with POST");
  requireIdentityCoding(request);
  if (!isJsonContentType(request.headers["content-type"]))
    throw new ToolgateError("UNSUPPORTED_MEDIA_TYPE", "content-type: must be application/json");
}

/** Returns why a call cannot be read; undefined: it failed otherwise. */
function problemOf(error: unknown): string | undefined {
  if (error instanceof JsonFieldError) return error.message;
  if (!(error instanceof ToolgateError)) return undefined;
  return error.code === "INVALID_REQUEST" || error.code === "UNSUPPORTED_MEDIA_TYPE"
    ? error.message
    : undefined;
}
