import type { DescService } from "@bufbuild/protobuf";
import { createContextKey, type HandlerContext, type MethodImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Random } from "../../domain/clock.ts";
import type { Admission } from "../access.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import { rateLimitHeaders } from "../rate-limit-headers.ts";
import { newRequestId } from "../request-context.ts";
import { asPlatformAbort, connectError } from "./connect-error.ts";

/** What the Connect door needs. */
export interface ConnectDeps {
  readonly pipeline: Pipeline;
  /** The services to serve to the public; the pipeline has them all. */
  readonly services: readonly DescService[];
  readonly random: Random;
  /** Largest request message, bytes, after decompression. */
  readonly bodyLimit: number;
}

/** Connect and gRPC-Web for a node:http server. */
export interface ConnectDoor {
  /** What the paths begin with that belong to this door, e.g. `/toolgate.v1.ToolService/`. */
  readonly prefixes: readonly string[];
  /** Serves one request; under the prefixes, unknown methods are answered 404. */
  handle(request: IncomingMessage, response: ServerResponse): void;
}

/** Largest response message, bytes: what gRPC clients take unless they say otherwise. */
const WRITE_MAX_BYTES = 4 * 1024 * 1024;

/** What the gate found out before the body was read. */
interface Entry {
  readonly requestId: string;
  readonly admission: Admission;
}

const ENTRY = createContextKey<Entry | undefined>(undefined, { description: "who was let in" });

/**
 * Serves the services by connect-node. Keys and rates are checked at the gate, before a body is read; a body that cannot be read
 * is told by Connect itself, without a detail.
 */
export function connectDoor({ pipeline, services, random, bodyLimit }: ConnectDeps): ConnectDoor {
  const operations = services.flatMap((service) => service.methods.map((method) => pipeline.operation(method)));
  const handle = connectNodeAdapter({
    grpc: false,
    readMaxBytes: bodyLimit,
    writeMaxBytes: WRITE_MAX_BYTES,
    jsonOptions: { ignoreUnknownFields: false },
    requestGate: (context) => admit(pipeline, newRequestId(random), context),
    routes(router) {
      for (const operation of operations) router.rpc(operation.method, implementation(pipeline, operation));
    },
  });
  return { prefixes: services.map(({ typeName }) => `/${typeName}/`), handle };
}

async function admit(pipeline: Pipeline, requestId: string, context: HandlerContext): Promise<void> {
  context.responseHeader.set("x-request-id", requestId);
  try {
    const authorization = context.requestHeader.get("authorization") ?? undefined;
    const admission = await pipeline.admit(pipeline.operation(context.method), authorization);
    context.values.set(ENTRY, { requestId, admission });
    if (!admission.rate) return;
    for (const [name, value] of rateLimitHeaders(admission.rate)) context.responseHeader.set(name, value);
  } catch (error) {
    throw connectError(pipeline.failure(error, requestId));
  }
}

function implementation(pipeline: Pipeline, operation: Operation): MethodImpl<Operation["method"]> {
  return async (request, context) => {
    const entry = context.values.get(ENTRY);
    if (!entry) throw new Error("the gate was passed by");
    const { requestId, admission } = entry;
    try {
      return await pipeline.answer(operation, request, {
        caller: admission.caller,
        requestId,
        signal: context.signal,
        xPayment: context.requestHeader.get("x-payment") ?? undefined,
        idempotencyKey: context.requestHeader.get("idempotency-key") ?? undefined,
        memoForm: "step",
      });
    } catch (error) {
      throw connectError(pipeline.failure(asPlatformAbort(error), requestId));
    }
  };
}
