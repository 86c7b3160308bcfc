import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { UniversalHandler, UniversalServerResponse } from "@connectrpc/connect/protocol";
import { ToolgateError } from "../../domain/errors.ts";
import type { Header } from "../header.ts";

/** What Connect refuses before it knows which protocol is spoken, and so without a body. */
export interface Refusal {
  readonly error: ToolgateError;
  readonly headers: readonly Header[];
}

/** A path under a service's prefix that is none of its methods. */
export const UNKNOWN_METHOD: Refusal = {
  error: new ToolgateError("NOT_FOUND", "there is no such method"),
  headers: [],
};

/** What the caller is to be told instead of an answer without a body; undefined when the answer says all. */
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
        error: new ToolgateError("METHOD_NOT_ALLOWED", `this path takes ${allow}`),
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
