import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createErrorBody,
  isJsonContentType,
  JsonFieldError,
  type ErrorBinding,
  type Transcoder,
} from "#httpjson/runtime/index.ts";
import type { Message } from "@bufbuild/protobuf";
import type { RequestRecord, Transport } from "../../app/operations/request-record.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { ClientInfo } from "../authentication.ts";
import type { Failure } from "../error-details.ts";
import { rateLimitHeaders, type Header } from "../headers.ts";
import { messageLimit, namesTool } from "../limits.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import type { RequestIds } from "../request-ids.ts";
import { sharedEncoding } from "../shared-message.ts";
import { bodyWithV1 } from "../x402/offers.ts";
import { LargeBodies } from "./large-bodies.ts";
import { checkDeclaredLength, hasBody, readBody } from "./body.ts";
import { rawResponse } from "./parse-error.ts";
import { HttpCredentials, requireHost, requireIdentityCoding, singleHeader } from "./request-head.ts";
import { send, type HttpResponse } from "./response.ts";

type RouteMatch = Parameters<Transcoder["read"]>[0];

export interface JsonHandler {
  readonly transport: Transport;
  /** Checks a request before its credentials. @throws ToolgateError */
  admit?(request: IncomingMessage): void;
  /** Returns the contract's path whose rules apply to a path that the contract does not have. */
  contractPath?(path: string): string;
  /** Returns the largest body of a path, bytes; undefined: as the contract's path has it. */
  bodyLimit?(path: string): number | undefined;
  /** Returns the response to an error in the protocol's form. */
  failed?(exchange: JsonExchange, answer: HttpResponse): HttpResponse;
  respond(exchange: JsonExchange, call: JsonCall): HttpResponse | Promise<HttpResponse>;
}

export interface JsonRoutesDeps {
  readonly pipeline: Pipeline;
  readonly transcoder: Transcoder;
  readonly errorBindings: readonly ErrorBinding[];
  readonly requestIds: RequestIds;
  readonly bodyLimit: number;
}

export interface JsonExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the client disconnects before the response. */
  readonly gone: AbortSignal;
  readonly record: RequestRecord;
  readonly headers: Header[];
  readonly path: string;
  readonly query: string;
  /** Whether the whole body was read; Node reports its end later. */
  bodyRead: boolean;
}

/** A request that matched a route and passed authentication. */
export interface JsonCall {
  readonly match: RouteMatch;
  readonly operation: Operation;
  readonly caller: Caller | undefined;
  readonly client?: ClientInfo | undefined;
  readonly body: Buffer;
}

/** The generated routes over HTTP, for JSON and MCP: reads requests, calls the pipeline, responds. */
export class JsonRoutes {
  readonly #deps: JsonRoutesDeps;
  readonly #largeBodies = new LargeBodies();
  readonly #errorBody: ReturnType<typeof createErrorBody>;

  constructor(deps: JsonRoutesDeps) {
    this.#deps = deps;
    this.#errorBody = createErrorBody(deps.errorBindings);
  }

  /** Sends what the handler returns, or the response of an error. Never throws. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    gone: AbortSignal,
    handler: JsonHandler,
  ): Promise<void> {
    const { pipeline, requestIds } = this.#deps;
    const requestId = requestIds.of(request.headers["x-request-id"]);
    const record = pipeline.requests.start(handler.transport, requestId, request.headers);
    const headers: Header[] = [["x-request-id", requestId]];
    const { path, query } = splitTarget(request.url ?? "/");
    const bodyRead = !hasBody(request);
    const exchange = { request, response, gone, record, headers, path, query, bodyRead };
    let giveBack = () => {};
    try {
      requireHost(request);
      handler.admit?.(request);
      const { match, operation, limit } = this.#route(
        request,
        handler.contractPath?.(path) ?? path,
        handler.bodyLimit?.(path),
      );
      record.method = operation.name;
      if (record.span) record.route = `${request.method} ${match.route.pattern}`;
      // Waits in any case: Node then delivers the body of the same packet.
      const credentials = new HttpCredentials(request);
      const { caller, rate, client } = await pipeline.authenticate(operation, credentials, record);
      if (rate) headers.push(...rateLimitHeaders(rate));
      const large = largeBytes(request, limit);
      if (large > 0 && caller) giveBack = this.#largeBodies.take(caller.accountId, large);
      const arriving = readBody(request, limit);
      const body = arriving instanceof Promise ? await arriving : arriving;
      exchange.bodyRead = true;
      const call = { match, operation, caller, client, body };
      const later = pipeline.time.measure(record, () => handler.respond(exchange, call));
      const answer = later instanceof Promise ? await later : later;
      pipeline.requests.end(record, answer.status, send(response, headers, answer));
    } catch (error) {
      const answer = this.errorResponse(exchange, error);
      const shown = handler.failed?.(exchange, answer) ?? answer;
      pipeline.requests.end(record, shown.status, send(response, headers, shown));
    } finally {
      giveBack();
    }
  }

  /** @throws ToolgateError for an unknown route or a body that it does not accept */
  #route(request: IncomingMessage, path: string, bodyLimit: number | undefined) {
    const { pipeline, transcoder } = this.#deps;
    const match = this.#findProbed(request, path) ?? findRoute(transcoder, request.method ?? "GET", path);
    const operation = pipeline.operation(match.route.method);
    const limit = bodyLimit ?? this.#limitOf(operation, path);
    checkDeclaredLength(request, limit);
    if (isProbe(request, operation)) return { match, operation, limit };
    requireIdentityCoding(request);
    if (hasBody(request) && !isJsonContentType(request.headers["content-type"])) {
      throw new ToolgateError("UNSUPPORTED_MEDIA_TYPE", "content-type: must be application/json");
    }
    return { match, operation, limit };
  }

  /** Finds what a wallet would buy by POST at a path that it reads. */
  #findProbed(request: IncomingMessage, path: string): RouteMatch | undefined {
    const { pipeline, transcoder } = this.#deps;
    if ((request.method !== "GET" && request.method !== "HEAD") || !path.startsWith(SOLD)) return undefined;
    const match = transcoder.match("POST", path);
    return "route" in match && isProbe(request, pipeline.operation(match.route.method)) ? match : undefined;
  }

  #limitOf(operation: Operation, path: string): number {
    const { pipeline, bodyLimit } = this.#deps;
    return operation.endpoint.key === "wallet"
      ? Math.min(bodyLimit, pipeline.sizes.limitOf(toolOf(path)))
      : messageLimit(operation, bodyLimit);
  }

  /** Returns the context of a call. @throws ToolgateError INVALID_REQUEST for a repeated header */
  context(
    { request, record, gone, headers, path }: JsonExchange,
    { caller, client }: JsonCall,
    memoForm: RequestContext["memoForm"],
  ): RequestContext {
    return {
      caller,
      client,
      record,
      requestId: record.requestId,
      signal: gone,
      xPayment: singleHeader(request, "x-payment"),
      paymentSignature: singleHeader(request, "payment-signature"),
      path,
      idempotencyKey: singleHeader(request, "idempotency-key"),
      onSettlement: ({ header }) => headers.push(header),
      memoForm,
    };
  }

  /** Calls the route's method. @throws ToolgateError, JsonFieldError and whatever the service throws */
  invoke(
    { query }: JsonExchange,
    { match, operation }: JsonCall,
    body: unknown,
    context: RequestContext,
  ): HttpResponse | Promise<HttpResponse> {
    const { pipeline, transcoder } = this.#deps;
    const message = pipeline.invoke(operation, transcoder.read(match, query, body), context);
    return message instanceof Promise
      ? message.then((arrived) => responseOf(match, arrived))
      : responseOf(match, message);
  }

  /** Returns the response to an error, and adds its headers to the exchange. */
  errorResponse({ request, record, headers, bodyRead }: JsonExchange, error: unknown): HttpResponse {
    if (error instanceof MethodNotAllowedError) headers.push(["allow", error.allow]);
    if (!bodyRead && !request.complete) headers.push(["connection", "close"]);
    return this.failed(this.#deps.pipeline.failure(asToolgateError(error), record.requestId, record));
  }

  /** Returns the response to bytes that are not a request, for the socket. */
  refusal(error: ToolgateError): string {
    const { pipeline, requestIds } = this.#deps;
    const record = pipeline.requests.start("http", requestIds.next());
    const answer = this.failed(pipeline.failure(error, record.requestId, record));
    const text = rawResponse([["x-request-id", record.requestId]], answer);
    pipeline.requests.end(record, answer.status, text.length);
    return text;
  }

  /** Builds the response of a failed call: status and body from the generated error table. */
  readonly failed = (failure: Failure): HttpResponse => {
    const body = this.#errorBody([failure.detail.message]);
    const json = bodyWithV1(body?.json, failure.offer);
    const { error, headers } = failure;
    return { status: body?.status ?? error.status, json, headers, refusal: error.refusal };
  };
}

function responseOf({ route }: RouteMatch, message: Message): HttpResponse {
  const shared = sharedEncoding(message, "json", () => JSON.stringify(route.write(message)));
  return shared ? { status: 200, body: shared } : { status: 200, json: route.write(message) };
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

/** Bodies up to this size are so many that only the rates limit them, bytes. */
const USUAL_BYTES = 1024 * 1024;

/** Bytes that a large body may have; 0: it is none. */
function largeBytes(request: IncomingMessage, limit: number): number {
  if (!hasBody(request)) return 0;
  const declared = Number(request.headers["content-length"] ?? limit);
  return declared > USUAL_BYTES ? declared : 0;
}

/** Where wallets buy. */
const SOLD = "/x402/";

/** Whether a wallet asks for terms: it neither pays nor signed in. Indexers do, without any parameters. */
export function isProbe({ headers }: IncomingMessage, { method, endpoint }: Operation): boolean {
  const none = ["payment-signature", "x-payment", "sign-in-with-x"].every(
    (name) => headers[name] === undefined,
  );
  return endpoint.key === "wallet" && namesTool(method) && none;
}

/** The tool of a path that names one, such as `/x402/echo`. */
export function toolOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Splits a request target at its query. */
export function splitTarget(target: string): { path: string; query: string } {
  const mark = target.indexOf("?");
  return mark < 0
    ? { path: target, query: "" }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}
