import type { DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  createConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type MethodImpl,
} from "@connectrpc/connect";
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from "@connectrpc/connect-node";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestRecord, Transport } from "../../app/operations/request-record.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { paymentCredentials, type Authentication, type Credentials } from "../authentication.ts";
import { rateLimitHeaders, type Header } from "../headers.ts";
import { BINARY_OPTIONS, DISCONNECTED, messageLimit, namesTool } from "../limits.ts";
import type { HttpHandler } from "../http/dispatch.ts";
import { failureResponse } from "../http/failure-response.ts";
import { send } from "../http/response.ts";
import { HttpCredentials } from "../http/request-head.ts";
import type { MessageSizes } from "../message-size.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import type { RequestIds } from "../request-ids.ts";
import { asPlatformAbort, connectError, refusalOf, UNKNOWN_METHOD } from "./connect-error.ts";
import { withMilliseconds } from "./json-times.ts";
import { ENVELOPE_BYTES, requirePlainMessage, wholeBody } from "./plain-message.ts";
import { replaceUnreadable, unreadable } from "./unreadable-message.ts";

export interface ConnectDeps {
  readonly pipeline: Pipeline;
  /** Services to serve publicly; the pipeline contains them all. */
  readonly services: readonly DescService[];
  readonly requestIds: RequestIds;
  /** Largest request message of a method that requires a key, bytes. */
  readonly bodyLimit: number;
  /** In metrics and logs; default `connect`. */
  readonly transport?: Transport;
  /** Path prefix of the services, such as `/console/rpc`, below which nothing else is; empty by default. */
  readonly pathPrefix?: string;
}

/** Connect and gRPC-Web for a node:http server. Unknown methods get 404. */
export interface ConnectHandler extends HttpHandler {
  /** Path prefixes this handler serves, such as `/toolgate.v1.ToolService/`. */
  readonly prefixes: readonly string[];
}

/** Largest response message, bytes: the default limit of gRPC clients. */
const WRITE_MAX_BYTES = 4 * 1024 * 1024;

const RECORD = createContextKey<RequestRecord | undefined>(undefined, {
  description: "record of the request",
});
const CREDENTIALS = createContextKey<Credentials | undefined>(undefined, {
  description: "credentials of the request",
});
const AUTHENTICATED = createContextKey<Authentication | undefined>(undefined, {
  description: "result of the authentication",
});

/** Serves services with Connect's handlers: authentication before the body, plain error bodies. */
export function connectHandler({
  pipeline,
  services,
  requestIds,
  bodyLimit,
  transport = "connect",
  pathPrefix = "",
}: ConnectDeps): ConnectHandler {
  const router = createConnectRouter({
    grpc: false,
    acceptCompression: [],
    writeMaxBytes: WRITE_MAX_BYTES,
    jsonOptions: { ignoreUnknownFields: false },
    binaryOptions: BINARY_OPTIONS,
    requestGate: (context) => authenticate(pipeline, context),
  });
  for (const method of services.flatMap((service) => service.methods)) {
    const operation = pipeline.operation(method);
    // Per-method options enable every protocol they do not disable.
    const options = { grpc: false, readMaxBytes: messageLimit(operation, bodyLimit) };
    router.rpc(operation.method, implementation(pipeline, operation), options);
  }
  const handlers = new Map(router.handlers.map((handler) => [pathPrefix + handler.requestPath, handler]));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Connect removes its listener before Node emits the error of a disconnected client, which would end the
    // process.
    request.on("error", () => undefined);
    const requestId = requestIds.of(request.headers["x-request-id"]);
    const record = pipeline.requests.start(transport, requestId, request.headers);
    // Connect-node's promise of a response never settles.
    response.once("close", () => pipeline.requests.end(record, unreportedStatus(response)));
    const fail = (thrown: unknown, headers: readonly Header[] = []) => {
      const answer = failureResponse(pipeline.failure(thrown, requestId, record));
      if (!request.complete) response.shouldKeepAlive = false;
      const bytes = send(response, [["x-request-id", requestId], ...headers], answer);
      pipeline.requests.end(record, answer.status, bytes);
    };
    try {
      const [path = ""] = (request.url ?? "").split("?", 1);
      const handler = handlers.get(path);
      if (!handler) return fail(UNKNOWN_METHOD.error);
      record.method = `${handler.service.name}/${handler.method.name}`;
      if (record.span) record.route = `${request.method} ${handler.requestPath}`;
      requireUrl(request);
      const values = createContextValues().set(RECORD, record).set(CREDENTIALS, new HttpCredentials(request));
      const asked = universalRequestFromNodeRequest(request, response, undefined, values);
      const { method } = pipeline.operation(handler.method);
      const whole = (bytes: Buffer) => {
        try {
          pipeline.time.begin(record);
          if (namesTool(method)) requireSize(pipeline.sizes, method, request, bytes);
        } catch (error) {
          throw connectError(pipeline.failure(error, requestId, record));
        }
      };
      const limit = messageLimit(pipeline.operation(method), bodyLimit);
      const body = isIterable(asked.body) ? wholeBody(asked.body, limit, whole) : asked.body;
      const answered = await handler({ ...asked, body });
      // No service ended it: the message was unreadable.
      pipeline.time.end(record);
      const readable = await replaceUnreadable(answered, record, () =>
        connectError(pipeline.failure(unreadable(handler), requestId, record)),
      );
      const answer = await withMilliseconds(readable, method.output);
      const refusal = refusalOf(handler, answer);
      if (refusal) return fail(refusal.error, refusal.headers);
      response.setHeader("x-request-id", requestId);
      // An unread rest of the body would corrupt the next request of the connection.
      if (!request.complete) response.shouldKeepAlive = false;
      await universalResponseToNodeResponse(answer, response);
    } catch (error) {
      // The client has disconnected.
      if (ConnectError.from(error).code !== Code.Aborted) fail(error);
    }
  }

  const prefixes = pathPrefix ? [`${pathPrefix}/`] : services.map(({ typeName }) => `/${typeName}/`);
  return {
    prefixes,
    handle(request, response) {
      const isOurs = prefixes.some((prefix) => request.url?.startsWith(prefix));
      if (isOurs) void serve(request, response);
      return isOurs;
    },
  };
}

/** Checks a message before Connect reads it. @throws ToolgateError PAYLOAD_TOO_LARGE, INVALID_REQUEST */
function requireSize(
  sizes: MessageSizes,
  { input }: Operation["method"],
  { headers }: IncomingMessage,
  body: Buffer,
): void {
  const type = headers["content-type"] ?? "";
  const message = type.startsWith("application/grpc-web") ? body.subarray(ENVELOPE_BYTES) : body;
  if (type.includes("json")) sizes.requireJson(message);
  else sizes.requireBinary(input, message);
}

/** Returns the status of a response that reached no service: gRPC-Web answers 200 to unreadable messages. */
function unreportedStatus({ writableFinished, statusCode }: ServerResponse): number {
  if (!writableFinished) return DISCONNECTED;
  return statusCode >= 400 ? statusCode : 400;
}

function isIterable<Body>(body: Body): body is Extract<Body, AsyncIterable<Uint8Array>> {
  return typeof body === "object" && body !== null && Symbol.asyncIterator in body;
}

/** Connect builds a URL from target and Host. @throws ToolgateError INVALID_REQUEST (RFC 9112 3.3) */
function requireUrl({ url = "/", headers: { host } }: IncomingMessage): void {
  if (host !== undefined && URL.canParse(url, `http://${host}`)) return;
  throw new ToolgateError("INVALID_REQUEST", "Host: must be sent, a host name with a port or without");
}

async function authenticate(pipeline: Pipeline, context: HandlerContext): Promise<void> {
  const record = context.values.get(RECORD);
  try {
    const credentials = context.values.get(CREDENTIALS);
    if (!credentials || !record) throw new Error("request context missing");
    requirePlainMessage(context);
    const operation = pipeline.operation(context.method);
    const authentication = await pipeline.authenticate(operation, credentials, record);
    context.values.set(AUTHENTICATED, authentication);
    if (!authentication.rate) return;
    for (const [name, value] of rateLimitHeaders(authentication.rate))
      context.responseHeader.set(name, value);
  } catch (error) {
    throw connectError(pipeline.failure(error, record?.requestId ?? "", record));
  }
}

function implementation(pipeline: Pipeline, operation: Operation): MethodImpl<Operation["method"]> {
  return async (request, context) => {
    const authentication = context.values.get(AUTHENTICATED);
    const record = context.values.get(RECORD);
    if (!authentication || !record) throw new Error("request context missing");
    const { requestId } = record;
    try {
      const requested: RequestContext = {
        caller: authentication.caller,
        client: authentication.client,
        requestId,
        record,
        signal: context.signal,
        xPayment: context.requestHeader.get("x-payment") ?? undefined,
        paymentSignature: context.requestHeader.get("payment-signature") ?? undefined,
        idempotencyKey: context.requestHeader.get("idempotency-key") ?? undefined,
        credential: paymentCredentials(context.requestHeader.get("authorization") ?? undefined),
        acceptPayment: context.requestHeader.get("accept-payment") ?? undefined,
        onSettlement: ({ headers }) => {
          for (const [name, value] of headers) context.responseHeader.set(name, value);
        },
        addHeader: ([name, value]) => context.responseHeader.append(name, value),
        memoForm: "step",
      };
      const invoke = () => pipeline.invoke(operation, request, requested);
      const answer = await pipeline.time.measure(record, invoke);
      record.status = 200;
      return answer;
    } catch (error) {
      throw connectError(pipeline.failure(asPlatformAbort(error), requestId, record));
    }
  };
}
