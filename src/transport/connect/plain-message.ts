import type { HandlerContext } from "@connectrpc/connect";
import { ToolgateError } from "../../domain/core/errors.ts";
import { KEYLESS_MESSAGE_LIMIT } from "../limits.ts";
import { ChunkBuffer } from "../../domain/core/chunk-buffer.ts";

/** Checks headers before the message. @throws ToolgateError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE */
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

/** Flags and length before a message of gRPC-Web, bytes. */
export const ENVELOPE_BYTES = 5;

/**
 * Returns a body in one chunk: Connect rescans all it has with each chunk, which may be one byte.
 * @param limit more bytes are passed on as they come, for Connect to refuse them
 * @param whole called when all has arrived, before Connect reads the message
 */
export async function* wholeBody(
  body: AsyncIterable<Uint8Array>,
  limit: number,
  whole: (bytes: Buffer) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const pieces = new ChunkBuffer();
  for await (const { buffer, byteOffset, byteLength } of body) {
    pieces.append(Buffer.from(buffer, byteOffset, byteLength));
    if (pieces.length <= limit + ENVELOPE_BYTES) continue;
    yield Uint8Array.from(pieces.concat());
    return;
  }
  const bytes = pieces.concat();
  whole(bytes);
  if (bytes.length > 0) yield Uint8Array.from(bytes);
}
