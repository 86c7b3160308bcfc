import { Server as Listener } from "node:net";
import type { Http2Server, ServerHttp2Stream } from "node:http2";
import type { Server, ServerInterceptingCallInterface } from "@grpc/grpc-js";

// Access to private members of grpc-js 1.14 that have no public alternative.

/** Returns the HTTP/2 stream of a call. */
export function streamOf(call: ServerInterceptingCallInterface): ServerHttp2Stream {
  const stream: unknown = Reflect.get(call, "stream");
  if (!isStream(stream)) throw new Error("grpc-js: the call has no stream");
  return stream;
}

function isStream(value: unknown): value is ServerHttp2Stream {
  return typeof value === "object" && value !== null && "close" in value && "session" in value;
}

/** Returns the grpc-encoding of a request, `identity` when absent. */
export function encodingOf(call: ServerInterceptingCallInterface): unknown {
  return Reflect.get(call, "incomingEncoding");
}

/**
 * Reads messages from DATA frames and returns them with their prefixes. Errors end the call with
 * RESOURCE_EXHAUSTED.
 */
export interface MessageReader {
  write(data: Buffer): Buffer[];
}

/** Replaces grpc-js's message reader of a call. */
export function readWith(call: ServerInterceptingCallInterface, reader: MessageReader): void {
  if (!Reflect.has(call, "decoder")) throw new Error("grpc-js: the call has no decoder");
  Reflect.set(call, "decoder", reader);
}

/** Returns the HTTP/2 servers of a gRPC server. */
export function listenersOf(server: Server): Http2Server[] {
  const listeners: unknown = Reflect.get(server, "http2Servers");
  return listeners instanceof Map ? [...listeners.keys()].filter(isListener) : [];
}

function isListener(value: unknown): value is Http2Server {
  return value instanceof Listener && "updateSettings" in value;
}
