import { Code, ConnectError } from "@connectrpc/connect";
import { type RpcCode, ToolgateError } from "../../domain/core/errors.ts";
import type { Failure } from "../error-details.ts";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import type { Header } from "../headers.ts";

/** Connect error codes by gRPC name (connectrpc.com, protocol reference, "Error Codes"). */
const CODE: Readonly<Record<RpcCode, Code>> = {
  ABORTED: Code.Aborted,
  CANCELLED: Code.Canceled,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  INTERNAL: Code.Internal,
  INVALID_ARGUMENT: Code.InvalidArgument,
  NOT_FOUND: Code.NotFound,
  PERMISSION_DENIED: Code.PermissionDenied,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  UNAUTHENTICATED: Code.Unauthenticated,
  UNAVAILABLE: Code.Unavailable,
  UNIMPLEMENTED: Code.Unimplemented,
};

export function connectError({ rpc, error, detail, headers }: Failure): ConnectError {
  const details = [{ desc: detail.schema, value: detail.message }];
  return new ConnectError(error.message, CODE[rpc], Object.fromEntries(headers), details, error);
}

/** Maps Connect's abort errors to those of the web platform (DOM, AbortSignal). */
export function asPlatformAbort(thrown: unknown): unknown {
  if (!(thrown instanceof ConnectError)) return thrown;
  if (thrown.code === Code.DeadlineExceeded) return new DOMException(thrown.rawMessage, "TimeoutError");
  if (thrown.code === Code.Canceled) return new DOMException(thrown.rawMessage, "AbortError");
  return thrown;
}

/** An error that Connect answers without a body, because the protocol is still unknown. */
interface Refusal {
  readonly error: ToolgateError;
  readonly headers: readonly Header[];
}

/** An unknown method below a service's prefix. */
export const UNKNOWN_METHOD: Refusal = {
  error: new ToolgateError("NOT_FOUND", "unknown method"),
  headers: [],
};

/** Returns the error for a response without a body; undefined when the response is complete. */
export function refusalOf(
  { method }: UniversalHandler,
  { status, body }: UniversalServerResponse,
): Refusal | undefined {
  if (body !== undefined) return undefined;
  switch (status) {
    case 405: {
      const read = method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
      const allow = read ? "GET, POST" : "POST";
      return {
        error: new ToolgateError("METHOD_NOT_ALLOWED", `this path supports ${allow}`),
        headers: [["allow", allow]],
      };
    }
    case 415: {
      const says = "content-type: must be application/json, application/proto or one of gRPC-Web";
      return { error: new ToolgateError("UNSUPPORTED_MEDIA_TYPE", says), headers: [] };
    }
    default:
      return undefined;
  }
}
