import { expect } from "vitest";
import {
  create,
  createFileRegistry,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type Any,
  anyUnpack,
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  file_google_protobuf_any,
} from "@bufbuild/protobuf/wkt";
import {
  Client,
  credentials,
  Metadata,
  type CallOptions,
  type ClientUnaryCall,
  type ServiceError,
} from "@grpc/grpc-js";

export interface GrpcAnswer<O extends DescMessage> {
  message: MessageShape<O>;
  headers: Metadata;
}

export interface GrpcCallOptions extends CallOptions {
  metadata?: Record<string, string>;
  signal?: AbortSignal;
}

export function grpcClient(address: string): Client {
  return new Client(address, credentials.createInsecure());
}

/** Calls a unary method with grpc-js. Rejects with its ServiceError. */
export function callGrpc<I extends DescMessage, O extends DescMessage>(
  client: Client,
  { parent, name, input, output }: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  { metadata = {}, signal, ...options }: GrpcCallOptions = {},
): Promise<GrpcAnswer<O>> {
  const entries = new Metadata();
  for (const [key, value] of Object.entries(metadata)) entries.set(key, value);
  return new Promise((resolve, reject) => {
    let headers = new Metadata();
    const call: ClientUnaryCall = client.makeUnaryRequest(
      `/${parent.typeName}/${name}`,
      (message: MessageShape<I>) => Buffer.from(toBinary(input, message)),
      (bytes: Buffer) => fromBinary(output, bytes),
      create(input, request),
      entries,
      options,
      (error, message) =>
        error || !message ? reject(error ?? new Error("no message")) : resolve({ message, headers }),
    );
    call.on("metadata", (received) => (headers = received));
    signal?.addEventListener("abort", () => call.cancel());
  });
}

export async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    return error as ServiceError;
  }
  expect.unreachable("the call was expected to fail");
}

/** google.rpc.Status declared independently, to check the server's hand-written encoding. */
const { STRING, INT32, MESSAGE } = Type;
const statusFile = create(FileDescriptorProtoSchema, {
  name: "google/rpc/status.proto",
  package: "google.rpc",
  syntax: "proto3",
  dependency: ["google/protobuf/any.proto"],
  messageType: [
    {
      name: "Status",
      field: [
        { name: "code", number: 1, type: INT32, label: Label.OPTIONAL },
        { name: "message", number: 2, type: STRING, label: Label.OPTIONAL },
        {
          name: "details",
          number: 3,
          type: MESSAGE,
          typeName: ".google.protobuf.Any",
          label: Label.REPEATED,
        },
      ],
    },
  ],
});
const registry = createFileRegistry(
  create(FileDescriptorSetSchema, { file: [file_google_protobuf_any.proto, statusFile] }),
);
const StatusSchema = registry.getMessage("google.rpc.Status");

export function statusDetails(error: ServiceError): { code: number; message: string; details: Any[] } {
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  if (!StatusSchema || !Buffer.isBuffer(bytes)) throw new Error("there are no status details");
  return fromBinary(StatusSchema, bytes) as unknown as { code: number; message: string; details: Any[] };
}

export function detailOf<D extends DescMessage>(error: ServiceError, schema: D): MessageShape<D> {
  const { details } = statusDetails(error);
  const detail = details.length === 1 && details[0] && anyUnpack(details[0], schema);
  if (!detail) throw new Error(`the error has no detail ${schema.typeName}`);
  return detail;
}
