import type { HandlerContext } from "@connectrpc/connect";
import { ToolgateError } from "../../domain/core/errors.ts";
import { KEYLESS_MESSAGE_LIMIT } from "../limits.ts";

/**
 * Checks the headers before the message is read.
 * @throws ToolgateError UNSUPPORTED_MEDIA_TYPE, as UNIMPLEMENTED, for a compressed message (Connect protocol,
 * "Unary-Request"; gRPC, compression.md); PAYLOAD_TOO_LARGE for a long message in the query
 */
export function requirePlainMessage(context: HandlerContext): void {
  if (context.requestMethod === "GET") return requirePlainQuery(context);
  const name = context.protocolName === "grpc-web" ? "grpc-encoding" : "content-encoding";
  requireIdentity(context, name, context.requestHeader.get(name));
}

function requirePlainQuery(context: HandlerContext): void {
  const query = new URL(context.url).searchParams;
  requireIdentity(context, "compression", query.get("compression"));
  if ((query.get("message") ?? "").length <= KEYLESS_MESSAGE_LIMIT) return;
  throw new ToolgateError(
    "PAYLOAD_TOO_LARGE",
    `message: is longer than ${KEYLESS_MESSAGE_LIMIT} characters; use POST`,
  );
}

function requireIdentity(
  { protocolName, responseHeader }: HandlerContext,
  name: string,
  coding: string | null,
): void {
  if (coding === null || coding === "identity") return;
  responseHeader.set(protocolName === "grpc-web" ? "grpc-accept-encoding" : "accept-encoding", "identity");
  throw new ToolgateError(
    "UNSUPPORTED_MEDIA_TYPE",
    `${name}: must be identity; send the message uncompressed`,
    {
      rpc: "UNIMPLEMENTED",
    },
  );
}
