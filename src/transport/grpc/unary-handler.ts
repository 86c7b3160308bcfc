import { fromBinary, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import type { handleUnaryCall, sendUnaryData, ServerUnaryCall } from "@grpc/grpc-js";
import { ToolgateError } from "../../domain/core/errors.ts";
import { BINARY_OPTIONS } from "../limits.ts";
import type { Operation, Pipeline } from "../pipeline.ts";
import { ResponseMetadata } from "./response-metadata.ts";
import { metadataValue, type AcceptedCall, type CallAuthenticator } from "./call-authenticator.ts";
import { CallSignal } from "./call-signal.ts";
import { encode } from "./register.ts";
import { statusOf } from "./status.ts";

/** Serves one method. Decodes the message itself, so that an invalid one gets the usual error. */
export function unaryHandler(
  pipeline: Pipeline,
  operation: Operation,
  heads: CallAuthenticator,
): handleUnaryCall<Buffer, Buffer> {
  return (call, respond) => void answer(pipeline, operation, heads.accepted(call.metadata), call, respond);
}

async function answer(
  pipeline: Pipeline,
  operation: Operation,
  { requestId, authentication, headers }: AcceptedCall,
  call: ServerUnaryCall<Buffer, Buffer>,
  respond: sendUnaryData<Buffer>,
): Promise<void> {
  const lifetime = new CallSignal(call);
  try {
    const request = decode(operation.method.input, call.request);
    const message = await pipeline.invoke(operation, request, {
      caller: authentication.caller,
      requestId,
      signal: lifetime.signal,
      xPayment: metadataValue(call.metadata, "x-payment"),
      paymentSignature: metadataValue(call.metadata, "payment-signature"),
      idempotencyKey: metadataValue(call.metadata, "idempotency-key"),
      onSettlement: ({ header }) => headers.push(header),
      memoForm: "step",
    });
    const bytes = encode(operation.method.output, message);
    lifetime.answered();
    call.sendMetadata(new ResponseMetadata(headers));
    respond(null, bytes);
  } catch (error) {
    lifetime.answered();
    respond(statusOf(pipeline.failure(error, requestId), headers));
  }
}

function decode<D extends DescMessage>(schema: D, bytes: Buffer): MessageShape<D> {
  try {
    return fromBinary(schema, bytes, BINARY_OPTIONS);
  } catch (cause) {
    throw new ToolgateError(
      "INVALID_REQUEST",
      `the request is not a ${schema.typeName} in protobuf encoding`,
      {
        cause,
      },
    );
  }
}
