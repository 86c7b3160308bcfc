import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonContentType, JsonFieldError, parseBody } from "#httpjson/runtime/index.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { namesTool } from "../limits.ts";
import type { Pipeline } from "../pipeline.ts";
import type { SoldTools } from "../x402/sold-tools.ts";
import type { Authentication } from "../authentication.ts";
import type { HttpHandler } from "./dispatch.ts";
import type { HttpExchange } from "./exchange.ts";
import { isProbe, type FoundRoute, type JsonRoutes, toolOf } from "./json-routes.ts";
import { codingOf } from "./content-coding.ts";
import { requireHost } from "./request-head.ts";
import type { HttpResponse } from "./response.ts";

/** HTTP/JSON: serves the contract's paths by the generated routes. */
export class JsonHandler implements HttpHandler {
  readonly #routes: JsonRoutes;
  readonly #pipeline: Pipeline;
  readonly #sold: Pick<SoldTools, "byName">;

  constructor(routes: JsonRoutes, pipeline: Pipeline, sold: Pick<SoldTools, "byName">) {
    this.#routes = routes;
    this.#pipeline = pipeline;
    this.#sold = sold;
  }

  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    void this.#serve(this.#routes.open("http", request, response, gone));
    return true;
  }

  async #serve(exchange: HttpExchange): Promise<void> {
    const routes = this.#routes;
    try {
      requireHost(exchange.request);
      const found = routes.find(exchange, exchange.path);
      const arriving = this.#read(exchange, found, await routes.authenticate(exchange, found));
      const body = arriving instanceof Promise ? await arriving : arriving;
      const answer = this.#pipeline.time.measure(exchange.record, () => this.#answer(exchange, found, body));
      routes.send(exchange, answer instanceof Promise ? await answer : answer);
    } catch (error) {
      routes.send(exchange, routes.errorResponse(exchange, error));
    }
  }

  #read(
    exchange: HttpExchange,
    found: FoundRoute,
    authentication: Authentication,
  ): Buffer | Promise<Buffer | ToolgateError> {
    const body = this.#routes.read(exchange, found, authentication);
    return body instanceof Promise && isProbe(exchange.request, found.operation)
      ? body.catch(unreadableBody)
      : body;
  }

  #answer(
    exchange: HttpExchange,
    found: FoundRoute,
    body: Buffer | ToolgateError,
  ): HttpResponse | Promise<HttpResponse> {
    if (isProbe(exchange.request, found.operation)) return this.#offer(exchange, found, body);
    if (body instanceof ToolgateError) throw body;
    const json = this.#parsed(exchange, found, body);
    return this.#routes.invoke(found, exchange.query, json, this.#routes.context(exchange, "step"));
  }

  #parsed({ path }: HttpExchange, { operation: { method, endpoint } }: FoundRoute, body: Buffer): unknown {
    if (namesTool(method))
      this.#pipeline.sizes.requireJson(body, endpoint.key === "wallet" ? toolOf(path) : undefined);
    return parseBody(body);
  }

  /**
   * Answers a call without a payment: with its own terms or, if it cannot be read, with those of the tool's
   * example. Indexers demand a 402 before any check. What is paid is checked again.
   */
  #offer(
    exchange: HttpExchange,
    found: FoundRoute,
    body: Buffer | ToolgateError,
  ): HttpResponse | Promise<HttpResponse> {
    const { request, record, path } = exchange;
    const context = this.#routes.context(exchange, "step");
    const exampleTerms = (problem: unknown) => {
      const unreadable = problemOf(problem);
      if (unreadable === undefined) throw problem;
      const example = this.#sold.byName().get(toolOf(path))?.example ?? {};
      return this.#routes.invoke(found, "", example, { ...context, unreadable });
    };
    try {
      if (body instanceof ToolgateError) throw body;
      requireReadable(request);
      const answer = this.#routes.invoke(found, "", this.#parsed(exchange, found, body), context);
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
  codingOf(request.headers);
  if (!isJsonContentType(request.headers["content-type"]))
    throw new ToolgateError("UNSUPPORTED_MEDIA_TYPE", "content-type: must be application/json");
}

/** A question for terms is answered although its body cannot be read. */
function unreadableBody(error: unknown): ToolgateError {
  if (error instanceof ToolgateError && problemOf(error) !== undefined) return error;
  throw error;
}

/** Returns why a call cannot be read; undefined: it failed otherwise. */
function problemOf(error: unknown): string | undefined {
  if (error instanceof JsonFieldError) return error.message;
  if (!(error instanceof ToolgateError)) return undefined;
  return error.code === "INVALID_REQUEST" || error.code === "UNSUPPORTED_MEDIA_TYPE"
    ? error.message
    : undefined;
}
