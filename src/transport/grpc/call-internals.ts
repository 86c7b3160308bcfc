import grpcJs from "@grpc/grpc-js/package.json" with { type: "json" };
import { Server as Listener } from "node:net";
import type { Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Server, ServerInterceptingCallInterface } from "@grpc/grpc-js";
import type { MessageReader } from "./message-reader.ts";

// Access to private members of grpc-js that have no public alternative.

/** The version of grpc-js whose private members these functions know. */
const KNOWN = "1.14.7";

export const GRPC_JS = { version: grpcJs.version, isKnown: grpcJs.version === KNOWN };

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

/** Replaces grpc-js's message reader of a call. Its errors end the call with RESOURCE_EXHAUSTED. */
export function readWith(call: ServerInterceptingCallInterface, reader: MessageReader): void {
  if (!Reflect.has(call, "decoder")) throw new Error("grpc-js: the call has no decoder");
  Reflect.set(call, "decoder", reader);
}

/** Hands streams to `serve`, and to grpc-js those it does not serve. All count for the idle time. */
export function serveFirst(
  server: Server,
  listener: Http2Server,
  serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => boolean,
): void {
  const opened: unknown = Reflect.get(server, "onStreamOpened");
  const [next, ...more] = listener.listeners("stream");
  if (typeof opened !== "function" || !next || more.length > 0)
    throw new Error("grpc-js: other stream handlers");
  listener.removeAllListeners("stream");
  listener.on("stream", (stream, headers, ...rest) => {
    if (serve(stream, headers)) opened.call(server, stream);
    else next.call(listener, stream, headers, ...rest);
  });
}

export function listenersOf(server: Server): Http2Server[] {
  const listeners: unknown = Reflect.get(server, "http2Servers");
  return listeners instanceof Map ? [...listeners.keys()].filter(isListener) : [];
}

function isListener(value: unknown): value is Http2Server {
  return value instanceof Listener && "updateSettings" in value;
}
