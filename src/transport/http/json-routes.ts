import type { IncomingMessage, ServerResponse } from "node:http";
import { isJsonContentType, JsonFieldError, type Transcoder } from "#httpjson/runtime/index.ts";
import type { Message } from "@bufbuild/protobuf";
import type { Transport } from "../../app/operations/request-record.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { paymentCredentials, type Authentication } from "../authentication.ts";
import { rateLimitHeaders } from "../headers.ts";
import { messageLimit, namesTool } from "../limits.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import { acceptsProblems, asProblem, paymentProblem } from "../payment-auth/problem.ts";
import type { RequestContext } from "../request-context.ts";
import type { RequestIds } from "../request-ids.ts";
import { sharedEncoding } from "../shared-message.ts";
import { checkDeclaredLength, hasBody, readBody, tooLarge } from "./body.ts";
import { CODINGS, codingOf, decoded, UnknownCodingError } from "./content-coding.ts";
import type { HttpExchange } from "./exchange.ts";
import { failureResponse } from "./failure-response.ts";
import { LargeBodies } from "./large-bodies.ts";
import { rawResponse } from "./parse-error.ts";
import { HttpCredentials, joined, singleHeader } from "./request-head.ts";
import { send, type HttpResponse } from "./response.ts";

type RouteMatch = Parameters<Transcoder["read"]>[0];

/** The route of a request, and what the contract says of its method. */
export interface FoundRoute {
  readonly match: RouteMatch;
  readonly operation: Operation;
  /** Largest body, bytes. */
  readonly limit: number;
}

export interface JsonRoutesDeps {
  readonly pipeline: Pipeline;
  readonly transcoder: Transcoder;
  readonly requestIds: RequestIds;
  readonly bodyLimit: number;
}

/**
 * The generated routes over HTTP, for JSON, MCP and OpenAI. A handler takes these steps: open, find,
 * authenticate, read, context, invoke, send.
 */
export class JsonRoutes {
  readonly #deps: JsonRoutesDeps;
  readonly #largeBodies = new LargeBodies();

  constructor(deps: JsonRoutesDeps) {
    this.#deps = deps;
  }

  /** Starts the record of a request. */
  open(
    transport: Transport,
    request: IncomingMessage,
    response: ServerResponse,
    gone: AbortSignal,
  ): HttpExchange {
    const { pipeline, requestIds } = this.#deps;
    const requestId = requestIds.of(request.headers["x-request-id"]);
    const record = pipeline.requests.start(transport, requestId, request.headers);
    const { path, query } = splitTarget(request.url ?? "/");
    return {
      request,
      response,
      gone,
      record,
      headers: [["x-request-id", requestId]],
      path,
      resource: path,
      query,
      bodyRead: !hasBody(request),
      caller: undefined,
      client: undefined,
      body: undefined,
      release: undefined,
    };
  }

  /**
   * Finds the route of a path of the contract, and checks the headers about the body.
   * @param bodyLimit undefined: as the contract has it
   * @throws ToolgateError for an unknown route or a body that it does not accept
   */
  find({ request, record }: HttpExchange, path: string, bodyLimit?: number): FoundRoute {
    const { pipeline, transcoder } = this.#deps;
    const match = this.#findProbed(request, path) ?? findRoute(transcoder, request.method ?? "GET", path);
    const operation = pipeline.operation(match.route.method);
    const limit = bodyLimit ?? this.#limitOf(operation, path);
    checkDeclaredLength(request, limit);
    if (!isProbe(request, operation)) requireJson(request);
    record.method = operation.name;
    if (record.span) record.route = `${request.method} ${match.route.pattern}`;
    return { match, operation, limit };
  }

  /**
   * Checks credentials, rate and time. Await it in any case: Node then delivers the body of the same packet.
   * @throws ToolgateError UNAUTHORIZED, FORBIDDEN, RATE_LIMITED
   */
  authenticate(
    { request, record }: HttpExchange,
    { operation }: FoundRoute,
  ): Authentication | Promise<Authentication> {
    return this.#deps.pipeline.authenticate(operation, new HttpCredentials(request), record);
  }

  /** Reads the body, synchronously if it is there. @throws ToolgateError PAYLOAD_TOO_LARGE, CANCELLED */
  read(
    exchange: HttpExchange,
    { limit }: FoundRoute,
    { caller, rate, client }: Authentication,
  ): Buffer | Promise<Buffer> {
    const { request } = exchange;
    if (rate) exchange.headers.push(...rateLimitHeaders(rate));
    exchange.caller = caller;
    exchange.client = client;
    const large = largeBytes(request, limit);
    if (large > 0 && caller) exchange.release = this.#largeBodies.take(caller.accountId, large);
    const body = readBody(request, limit);
    if (body instanceof Promise) return body.then((later) => this.#whole(exchange, later, limit));
    exchange.bodyRead = true;
    return this.#whole(exchange, body, limit);
  }

  #whole(exchange: HttpExchange, body: Buffer, limit: number): Buffer | Promise<Buffer> {
    keepBody(exchange, body);
    if (exchange.request.headers["content-encoding"] === undefined) return body;
    return this.#decoded(exchange, body, limit);
  }

  /** A small body may become a large one, which takes its share first. */
  async #decoded(exchange: HttpExchange, body: Buffer, limit: number): Promise<Buffer> {
    const { record, caller, request } = exchange;
    const coding = codingOf(request.headers);
    if (coding === undefined) return body;
    const usual = Math.min(limit, USUAL_BYTES);
    let whole = await decoded(body, coding, usual);
    this.#deps.pipeline.time.count(record, (whole?.length ?? usual) / DECODED_PER_MS);
    if (!whole && limit > usual && caller) {
      exchange.release?.();
      exchange.release = this.#largeBodies.take(caller.accountId, limit);
      whole = await decoded(body, coding, limit);
      this.#deps.pipeline.time.count(record, (whole?.length ?? limit) / DECODED_PER_MS);
    }
    if (whole) return whole;
    throw tooLarge(limit);
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
    { request, record, gone, headers, resource, body, caller, client }: HttpExchange,
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
      credential: paymentCredentials(request.headers.authorization),
      acceptPayment: joined(request.headers["accept-payment"]),
      body,
      path: resource,
      idempotencyKey: singleHeader(request, "idempotency-key"),
      onSettlement: (report) => headers.push(...report.headers),
      memoForm,
    };
  }

  /** Calls the route's method. @throws ToolgateError, JsonFieldError and whatever the service throws */
  invoke(
    { match, operation }: FoundRoute,
    query: string,
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
  errorResponse({ request, record, headers, bodyRead }: HttpExchange, thrown: unknown): HttpResponse {
    if (thrown instanceof MethodNotAllowedError) headers.push(["allow", thrown.allow]);
    if (thrown instanceof UnknownCodingError) headers.push(["accept-encoding", CODINGS]);
    if (!bodyRead && !request.complete) headers.push(["connection", "close"]);
    const { pipeline } = this.#deps;
    const failure = pipeline.failure(asToolgateError(thrown), record.requestId, record);
    const answer = failureResponse(failure);
    const problem = acceptsProblems(request.headers.accept) ? paymentProblem(failure.error) : undefined;
    return problem ? asProblem(answer, problem) : answer;
  }

  /** Sends the response, and ends the record. */
  send(exchange: HttpExchange, answer: HttpResponse): void {
    const { response, headers, record, release } = exchange;
    exchange.release = undefined;
    release?.();
    this.#deps.pipeline.requests.end(record, answer.status, send(response, headers, answer));
  }

  /** Returns the response to bytes that are not a request, for the socket. */
  refusal(error: ToolgateError): string {
    const { pipeline, requestIds } = this.#deps;
    const record = pipeline.requests.start("http", requestIds.next());
    const answer = failureResponse(pipeline.failure(error, record.requestId, record));
    const text = rawResponse([["x-request-id", record.requestId]], answer);
    pipeline.requests.end(record, answer.status, text.length);
    return text;
  }
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

/** @throws ToolgateError UNSUPPORTED_MEDIA_TYPE */
function requireJson(request: IncomingMessage): void {
  codingOf(request.headers);
  if (hasBody(request) && !isJsonContentType(request.headers["content-type"]))
    throw new ToolgateError("UNSUPPORTED_MEDIA_TYPE", "content-type: must be application/json");
}

/** Bodies up to this size are so many that only the rates limit them, bytes. */
const USUAL_BYTES = 1024 * 1024;

/** Bytes that another thread decodes in a millisecond, at least. */
const DECODED_PER_MS = 100_000;

/** Bytes that a large body may have; 0: it is none. */
function largeBytes(request: IncomingMessage, limit: number): number {
  if (!hasBody(request)) return 0;
  const declared = Number(request.headers["content-length"] ?? limit);
  return declared > USUAL_BYTES ? declared : 0;
}

/** Keeps a usual body: challenges are bound to it. The digest of a large one takes milliseconds. */
function keepBody(exchange: HttpExchange, body: Buffer): void {
  if (body.length > 0 && body.length <= USUAL_BYTES) exchange.body = body;
}

/** Where wallets buy. */
const SOLD = "/x402/";

/** Whether a wallet asks for terms: it neither pays nor signed in. Indexers do, without any parameters. */
export function isProbe({ headers }: IncomingMessage, { method, endpoint }: Operation): boolean {
  const none =
    ["payment-signature", "x-payment", "sign-in-with-x"].every((name) => headers[name] === undefined) &&
    paymentCredentials(headers.authorization) === undefined;
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
