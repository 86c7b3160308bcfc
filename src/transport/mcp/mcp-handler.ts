import type { IncomingMessage, ServerResponse } from "node:http";
import type { Catalogue } from "../../app/calls/catalogue.ts";
import { OTHER } from "../../app/operations/request-record.ts";
import { isJsonObject } from "../../domain/core/json.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { splitTarget, type FoundRoute, type JsonRoutes } from "../http/json-routes.ts";
import type { OriginPolicy } from "../http/origin-policy.ts";
import { requireHost } from "../http/request-head.ts";
import type { HttpResponse } from "../http/response.ts";
import type { Header } from "../headers.ts";
import type { Pipeline } from "../pipeline.ts";
import { BatchHandler } from "./batch.ts";
import type { CallApprovals } from "./call-approvals.ts";
import { McpExchange } from "./exchange.ts";
import {
  errorMessage,
  JsonRpcError,
  outcomeOf,
  mergeRpcError,
  parseJson,
  readMessage,
  resultMessage,
  RPC_ERROR,
  UnreadableMessageError,
  type Message,
  type RequestId,
} from "./json-rpc.ts";
import { methodName, Methods } from "./methods.ts";
import { requireMirroredHeaders } from "./mirrored-headers.ts";
import {
  announcesPayment,
  eraOf,
  modernResult,
  requireLegacyRevision,
  requireModernRevision,
  type Era,
  type Result,
} from "./revision.ts";
import { failedCall, PREFERENCE_APPLIED, type PlainFailure } from "./tool-result.ts";

/** Path of the endpoint (specification 4.2). */
export const PATH = "/mcp";

const ACCEPTED: HttpResponse = { status: 202 };

export interface McpHandlerDeps {
  readonly routes: JsonRoutes;
  readonly pipeline: Pipeline;
  readonly catalogue: Catalogue;
  readonly originPolicy: OriginPolicy;
  /** Returns what a 401 says to a host that signs in by OAuth; undefined: it is off. */
  readonly challenge?: (() => string) | undefined;
  /** Undefined likewise. */
  readonly approvals?: CallApprovals | undefined;
}

/** `/mcp`: one stateless endpoint for MCP of both eras, and for the contract's plain tool calls. */
export class McpHandler implements HttpHandler {
  readonly #deps: McpHandlerDeps;
  readonly #methods: Methods;
  readonly #batches: BatchHandler;

  constructor(deps: McpHandlerDeps) {
    this.#deps = deps;
    this.#methods = new Methods(deps.pipeline, deps.catalogue, deps.approvals);
    this.#batches = new BatchHandler(deps.pipeline, this.#methods);
  }

  handle(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): boolean {
    if (splitTarget(request.url ?? "/").path !== PATH) return false;
    void this.#serve(this.#deps.routes.open("mcp", request, response, gone));
    return true;
  }

  async #serve(http: HttpExchange): Promise<void> {
    const { routes, pipeline, originPolicy } = this.#deps;
    try {
      requireHost(http.request);
      originPolicy.require(http.request);
      const found = routes.find(http, http.path);
      const arriving = routes.read(http, found, await routes.authenticate(http, found));
      const body = arriving instanceof Promise ? await arriving : arriving;
      const answer = pipeline.time.measure(http.record, () => this.#answer(http, found, body));
      routes.send(http, answer instanceof Promise ? await answer : answer);
    } catch (error) {
      routes.send(http, this.#challenged(routes.errorResponse(http, error)));
    }
  }

  #challenged(answer: HttpResponse): HttpResponse {
    const { challenge } = this.#deps;
    if (answer.status !== 401 || !challenge) return answer;
    const headers = answer.headers?.map(([name, value]): Header =>
      name === "www-authenticate" && value.startsWith("Bearer ")
        ? [name, `${value}, ${challenge()}`]
        : [name, value],
    );
    return { ...answer, ...(headers && { headers }) };
  }

  #answer(http: HttpExchange, found: FoundRoute, bytes: Buffer): HttpResponse | Promise<HttpResponse> {
    const { routes, pipeline } = this.#deps;
    pipeline.sizes.requireJson(bytes);
    try {
      const body = parseJson(bytes);
      // A credential in `_meta` changes the body.
      if (isJsonRpc(body)) http.body = undefined;
      const context = routes.context(http, "prefix");
      if (!isJsonRpc(body)) return routes.invoke(found, http.query, body, context);
      const exchange = new McpExchange(http, body, context);
      const answer = Array.isArray(body)
        ? this.#batches.answer(body, exchange)
        : this.#answerMessage(exchange);
      return answer instanceof Promise ? this.#finish(answer, exchange, http) : answer;
    } catch (error) {
      return this.#unreadable(error, http);
    }
  }

  async #finish(
    running: Promise<HttpResponse>,
    exchange: McpExchange,
    http: HttpExchange,
  ): Promise<HttpResponse> {
    try {
      const answer = await running;
      return exchange.stream ? { ...answer, stream: exchange.stream } : answer;
    } catch (error) {
      return this.#unreadable(error, http);
    }
  }

  #unreadable(error: unknown, http: HttpExchange): HttpResponse {
    if (!(error instanceof UnreadableMessageError)) throw error;
    const { id, rpcCode, message } = error;
    return mergeRpcError(this.#deps.routes.errorResponse(http, error), id, rpcCode, message);
  }

  /** Handles a single message. @throws UnreadableMessageError when it is not JSON-RPC */
  #answerMessage(exchange: McpExchange): HttpResponse | Promise<HttpResponse> {
    const { body, version } = exchange;
    const message = readMessage(body);
    exchange.record.method = message ? methodName(message) : OTHER;
    const era = eraOf(message, version);
    if (!message || message.id === undefined) return acceptance(message, era, version);
    const { id } = message;
    try {
      if (era === "legacy") {
        requireLegacyRevision(version);
      } else {
        requireModernRevision(message, version);
        requireMirroredHeaders(message, exchange.headers);
      }
      const result = this.#methods.result(message, era, exchange);
      return result instanceof Promise
        ? result
            .then((later) => success(id, era, later))
            .catch((error) => this.#failure(error, message, id, exchange))
        : success(id, era, result);
    } catch (error) {
      return this.#failure(error, message, id, exchange);
    }
  }

  #failure(thrown: unknown, message: Message, id: RequestId, exchange: McpExchange): HttpResponse {
    if (thrown instanceof JsonRpcError) {
      exchange.record.failed(outcomeOf(thrown));
      return protocolError(thrown, id);
    }
    const failed = failedCall(thrown, exchange.inBand, exchange, this.#deps.pipeline);
    if (failed.kind === "plain") return plainError(failed, message, id, exchange);
    const answer = success(id, eraOf(message, exchange.version), failed.result);
    return failed.preferred ? { ...answer, headers: [PREFERENCE_APPLIED] } : answer;
  }
}

function success(id: RequestId, era: Era, result: Result): HttpResponse {
  return { status: 200, json: resultMessage(id, era === "modern" ? modernResult(result) : result) };
}

/** Only an object without `jsonrpc` is a plain tool call. */
function isJsonRpc(body: unknown): boolean {
  return !isJsonObject(body) || Object.hasOwn(body, "jsonrpc");
}

/** Accepts notifications and responses, without sessions. @throws UnreadableMessageError: modern response */
function acceptance(message: Message | undefined, era: Era, version: string | undefined): HttpResponse {
  if (era === "modern") {
    if (message) return ACCEPTED;
    const problem = "body: is a response, but the server sent no request";
    throw new UnreadableMessageError(RPC_ERROR.invalidRequest, problem);
  }
  try {
    requireLegacyRevision(version);
    return ACCEPTED;
  } catch (error) {
    if (error instanceof JsonRpcError) return protocolError(error, null);
    throw error;
  }
}

/** A bare JSON-RPC message: the official clients ignore an event with other members and keep waiting. */
function plainError(
  { answer, message, challenges }: PlainFailure,
  request: Message,
  id: RequestId,
  { stream, elicitation }: McpExchange,
): HttpResponse {
  const { status, json } = answer;
  if (elicitation) {
    const data = { ...(isJsonObject(json) && json), httpStatus: status, elicitations: [elicitation] };
    return {
      ...answer,
      status: 200,
      json: errorMessage(id, RPC_ERROR.urlElicitationRequired, message, data),
    };
  }
  const code = announcesPayment(request) ? paymentCode(answer, challenges) : undefined;
  if (code !== undefined) {
    const data = { ...(isJsonObject(json) && json), httpStatus: status, ...(challenges && { challenges }) };
    return { ...answer, status: 200, json: errorMessage(id, code, message, data) };
  }
  if (!stream) return mergeRpcError(answer, id, status, message, challenges && { challenges });
  return { status, json: errorMessage(id, status, message, json) };
}

/** The code of an error about a payment (draft-payment-transport-mcp); undefined for other errors. */
function paymentCode({ status, json }: HttpResponse, challenges: unknown): number | undefined {
  if (challenges) return RPC_ERROR.paymentRequired;
  const code = isJsonObject(json) ? json["code"] : undefined;
  if (code !== "INVALID_PAYMENT" && code !== "QUOTE_EXPIRED") return undefined;
  return status === 400 ? RPC_ERROR.invalidParams : RPC_ERROR.verificationFailed;
}

/** Without the plain error members: clients detect the supported era by this body. */
function protocolError({ status, code, message, data }: JsonRpcError, id: RequestId | null): HttpResponse {
  return { status, json: errorMessage(id, code, message, data) };
}
