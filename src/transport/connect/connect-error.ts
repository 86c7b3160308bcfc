import { Code, ConnectError } from "@connectrpc/connect";
import type { RpcCode } from "../../domain/core/errors.ts";
import type { Failure } from "../error-details.ts";

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

/** Maps a failure to a Connect error with its detail. */
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
