import {
  fromBinary,
  toBinary,
  type DescMessage,
  type DescMethod,
  type DescService,
  type MessageShape,
} from "@bufbuild/protobuf";
import { BINARY_OPTIONS } from "../limits.ts";
import type {
  handleBidiStreamingCall,
  handleServerStreamingCall,
  handleUnaryCall,
  Server,
} from "@grpc/grpc-js";

type Handler<Request, Response> =
  | handleUnaryCall<Request, Response>
  | handleServerStreamingCall<Request, Response>
  | handleBidiStreamingCall<Request, Response>;

type Typed<I extends DescMessage, O extends DescMessage> = DescMethod & { input: I; output: O };

/** Method kinds as grpc-js names them. */
const HANDLER_TYPE = {
  unary: "unary",
  client_streaming: "clientStream",
  server_streaming: "serverStream",
  bidi_streaming: "bidi",
} as const satisfies Record<DescMethod["methodKind"], string>;

export function register<I extends DescMessage, O extends DescMessage>(
  server: Server,
  method: Typed<I, O>,
  handler: Handler<MessageShape<I>, MessageShape<O>>,
): void {
  const { input, output, methodKind } = method;
  server.register<MessageShape<I>, MessageShape<O>>(
    pathOf(method),
    handler,
    (message) => encode(output, message),
    (bytes) => fromBinary(input, bytes, BINARY_OPTIONS),
    HANDLER_TYPE[methodKind],
  );
}

/** Registers a handler that returns encoded messages. @param service name, if not the method's own */
export function registerEncoded<I extends DescMessage>(
  server: Server,
  { input, methodKind, name, parent }: DescMethod & { input: I },
  handler: Handler<MessageShape<I>, Buffer>,
  service: DescService = parent,
): void {
  const decode = (bytes: Buffer) => fromBinary(input, bytes, BINARY_OPTIONS);
  server.register(pathOf({ parent: service, name }), handler, asIs, decode, HANDLER_TYPE[methodKind]);
}

/** Encodes a message into the Buffer that grpc-js expects. */
export function encode<D extends DescMessage>(schema: D, message: MessageShape<D>): Buffer {
  const bytes = toBinary(schema, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function asIs(bytes: Buffer): Buffer {
  return bytes;
}

export function pathOf({ parent, name }: Pick<DescMethod, "parent" | "name">): string {
  return `/${parent.typeName}/${name}`;
}
