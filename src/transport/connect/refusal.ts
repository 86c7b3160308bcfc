import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { ToolgateError } from "../../domain/core/errors.ts";
import type { Header } from "../headers.ts";

/** An error that Connect answers without a body, because the protocol is still unknown. */
export interface Refusal {
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
