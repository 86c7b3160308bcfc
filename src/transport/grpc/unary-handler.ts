import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type MessageShape,
} from "@bufbuild/protobuf";
import type { handleUnaryCall } from "@grpc/grpc-js";
import { ToolgateError } from "../../domain/core/errors.ts";
import { bearerOf, paymentCredentials, type Credentials } from "../authentication.ts";
import { rateLimitHeaders, type Header } from "../headers.ts";
import { BINARY_OPTIONS, messageLimit, namesTool } from "../limits.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import type { RequestContext } from "../request-context.ts";
import type { RequestIds } from "../request-ids.ts";
import { LibraryCall } from "./library-call.ts";
import { requireIdentity } from "./message-reader.ts";
import type { OpenCalls } from "./open-calls.ts";
import { pathOf } from "./register.ts";
import { IDENTITY, statusOf } from "./status.ts";
import { UnaryCall, type AnswerableCall } from "./unary-call.ts";

export class UnaryHandler {
  readonly #pipeline: Pipeline;
  readonly #operations: ReadonlyMap<string, Operation>;
  readonly #requestIds: RequestIds;
  readonly #bodyLimit: number;
  readonly #calls: OpenCalls;

  constructor(
    pipeline: Pipeline,
    methods: readonly DescMethod[],
    requestIds: RequestIds,
    bodyLimit: number,
    calls: OpenCalls,
  ) {
    this.#pipeline = pipeline;
    this.#operations = new Map(methods.map((method) => [pathOf(method), pipeline.operation(method)]));
    this.#requestIds = requestIds;
    this.#bodyLimit = bodyLimit;
    this.#calls = calls;
  }

  /** @returns whether the stream is a call of these methods */
  serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): boolean {
    const operation = this.#operations.get(headers[":path"] ?? "");
    if (!operation || headers["content-type"]?.startsWith("application/grpc") !== true) return false;
    void this.#answer(operation, new UnaryCall(stream, this.#calls), headers);
    return true;
  }

  /** Handlers for grpc-js, by path: for a version whose streams {@link serve} cannot take. */
  *libraryHandlers(): Generator<[path: string, handler: handleUnaryCall<Buffer, Buffer>]> {
    for (const [path, operation] of this.#operations)
      yield [
        path,
        (call, respond) => {
          const answered = new LibraryCall(call, respond);
          void this.#answer(operation, answered, { ...answered.headers, ":path": path });
        },
      ];
  }

  /** Checks compression, API key and rate limit before it reads a message. */
  async #answer(operation: Operation, call: AnswerableCall, head: IncomingHttpHeaders): Promise<void> {
    const requestId = this.#requestIds.of(head["x-request-id"]);
    const headers: Header[] = [["x-request-id", requestId]];
    const { method } = operation;
    const { requests } = this.#pipeline;
    const record = requests.start("grpc", requestId, head);
    record.method = operation.name;
    if (record.span) record.route = head[":path"];
    call.onUnanswered((status) => requests.end(record, status));
    try {
      requireIdentity(head["grpc-encoding"]);
      call.startTimeout?.(head);
      const { caller, rate, client } = await this.#pipeline.authenticate(
        operation,
        credentialsOf(call, head),
        record,
      );
      if (rate) headers.push(...rateLimitHeaders(rate));
      call.accepted?.(caller === undefined);
      const encoded = await call.read(messageLimit(operation, this.#bodyLimit));
      const context: RequestContext = {
        caller,
        client,
        requestId,
        record,
        signal: call.signal,
        xPayment: valueOf(head, "x-payment"),
        paymentSignature: valueOf(head, "payment-signature"),
        idempotencyKey: valueOf(head, "idempotency-key"),
        credential: paymentCredentials(head.authorization),
        acceptPayment: valueOf(head, "accept-payment"),
        onSettlement: (report) => headers.push(...report.headers),
        memoForm: "step",
      };
      const message = await this.#pipeline.time.measure(record, () => {
        if (namesTool(method)) this.#pipeline.sizes.requireBinary(method.input, encoded);
        return this.#pipeline.invoke(operation, decode(method.input, encoded), context);
      });
      const bytes = toBinary(method.output, message);
      call.respond(bytes, headers);
      requests.end(record, 200, bytes.length);
    } catch (error) {
      const failure = this.#pipeline.failure(error, requestId, record);
      call.fail(statusOf(failure, [IDENTITY, ...headers]));
      requests.end(record, failure.error.status);
    }
  }
}

function credentialsOf({ peer }: AnswerableCall, headers: IncomingHttpHeaders): Credentials {
  return {
    authorization: bearerOf(headers.authorization, valueOf(headers, "x-api-key")),
    signIn: valueOf(headers, "sign-in-with-x"),
    peer,
    forwardedFor: valueOf(headers, "x-forwarded-for"),
  };
}

/** Returns a metadata value; repeats are joined (RFC 9110 section 5.3), which makes them invalid here. */
function valueOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  return headers[name]?.toString();
}

function decode<D extends DescMessage>(schema: D, bytes: Buffer): MessageShape<D> {
  try {
    return fromBinary(schema, bytes, BINARY_OPTIONS);
  } catch (cause) {
    const problem = `the request is not a ${schema.typeName} in protobuf encoding`;
    throw new ToolgateError("INVALID_REQUEST", problem, { cause });
  }
}
