import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { ServerReflectionRequestSchema } from "#gen/grpc/reflection/v1/reflection_pb.ts";
import { CallToolRequestSchema } from "#gen/toolgate/v1/tool_service_pb.ts";

/** Opens a raw call that sends headers only. */
export function rawCall(
  to: ClientHttp2Session,
  path: string,
  headers: OutgoingHttpHeaders = {},
): ClientHttp2Stream {
  const head = {
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  };
  return to.request(head, { endStream: false }).on("error", () => undefined);
}

export function framed(message: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flags);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export function callOf(tool: string, params: Record<string, string> = {}): Buffer {
  return framed(toBinary(CallToolRequestSchema, create(CallToolRequestSchema, { tool, params })));
}

export function questionOf(symbol: string): Buffer {
  const messageRequest = { case: "fileContainingSymbol", value: symbol } as const;
  const request = create(ServerReflectionRequestSchema, { messageRequest });
  return framed(toBinary(ServerReflectionRequestSchema, request));
}

/** How the server ended a call. */
export interface CallEnd {
  /** grpc-status; undefined when none was sent. */
  status: number | undefined;
  headers: Record<string, unknown>;
  /** Code of RST_STREAM. */
  code: number | undefined;
}

/** Resolves when a call has ended. */
export async function endOf(stream: ClientHttp2Stream): Promise<CallEnd> {
  const headers: Record<string, unknown> = {};
  const add = (more: object) => void Object.assign(headers, more);
  stream.on("response", add).on("trailers", add).resume();
  await new Promise((resolve) => stream.once("close", resolve));
  const status = headers["grpc-status"];
  return { status: status === undefined ? undefined : Number(status), headers, code: stream.rstCode };
}
