import { fromBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type { handleUnaryCall, Metadata, sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { ToolgateError } from "../../domain/errors.ts";
import type { Arrival } from "../gate.ts";
import type { Header } from "../header.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import { rateLimitHeaders } from "../rate-limit-headers.ts";
import type { RequestIds } from "../request-context.ts";
import { AnswerHead } from "./answer-head.ts";
import { CallSignal } from "./call-signal.ts";
import { encode } from "./register.ts";
import { statusOf } from "./status.ts";

/**
 * Serves one method by grpc-js. Messages come and go as bytes, so that nothing is decoded for callers without a key, and a
 * message that cannot be decoded is told like any other bad request.
 */
export function unaryHandler(
  pipeline: Pipeline,
  operation: Operation,
  requestIds: RequestIds,
): handleUnaryCall<Buffer, Buffer> {
  return (call, respond) => void answer(pipeline, operation, requestIds.next(), call, respond);
}

async function answer(
  pipeline: Pipeline,
  operation: Operation,
  requestId: string,
  call: ServerUnaryCall<Buffer, Buffer>,
  respond: sendUnaryData<Buffer>,
): Promise<void> {
  const lifetime = new CallSignal(call);
  const headers: Header[] = [["x-request-id", requestId]];
  try {
    const { caller, rate } = await pipeline.admit(operation, arrivalOf(call));
    if (rate) headers.push(...rateLimitHeaders(rate));
    const request = decode(operation.method.input, call.request);
    const message = await pipeline.answer(operation, request, {
      caller,
      requestId,
      signal: lifetime.signal,
      xPayment: entry(call.metadata, "x-payment"),
      paymentSignature: entry(call.metadata, "payment-signature"),
      idempotencyKey: entry(call.metadata, "idempotency-key"),
      settled: ({ header }) => headers.push(header),
      memoForm: "step",
    });
    const bytes = encode(operation.method.output, message);
    lifetime.answered();
    call.sendMetadata(new AnswerHead(headers));
    respond(null, bytes);
  } catch (error) {
    lifetime.answered();
    respond(statusOf(pipeline.failure(error, requestId), headers));
  }
}

/** What the call shows at the door; grpc-js tells the other end as `address:port`, an IPv6 address without brackets. */
function arrivalOf(call: ServerUnaryCall<Buffer, Buffer>): Arrival {
  const peer = call.getPeer();
  return {
    authorization: entry(call.metadata, "authorization"),
    peer: peer.slice(0, Math.max(0, peer.lastIndexOf(":"))),
    forwardedFor: entry(call.metadata, "x-forwarded-for"),
  };
}

/** A metadata entry; repeats are joined as HTTP joins them (RFC 9110 section 5.3), which no value that is read here survives. */
function entry(metadata: Metadata, name: string): string | undefined {
  const values = metadata.get(name);
  return values.length === 0 ? undefined : values.join(", ");
}

function decode<D extends DescMessage>(schema: D, bytes: Buffer): MessageShape<D> {
  try {
    return fromBinary(schema, bytes);
  } catch (cause) {
    throw new ToolgateError("INVALID_REQUEST", `the request is not a ${schema.typeName} in protobuf encoding`, {
      cause,
    });
  }
}
