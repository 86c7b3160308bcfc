import { toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import type { ErrorDetail, Failure } from "../error-details.ts";
import type { Header } from "../headers.ts";
import { DISCONNECTED } from "../limits.ts";

/** Compressed messages are rejected (compression.md). */
export const IDENTITY: Header = ["grpc-accept-encoding", "identity"];

/** Trailer of google.rpc.Status (grpc.io, richer error model). */
const STATUS_DETAILS = "grpc-status-details-bin";

/** google/rpc/code.proto, "HTTP Mapping". */
const HTTP_STATUS: Readonly<Partial<Record<status, number>>> = {
  [status.OK]: 200,
  [status.CANCELLED]: DISCONNECTED,
  [status.INVALID_ARGUMENT]: 400,
  [status.FAILED_PRECONDITION]: 400,
  [status.UNAUTHENTICATED]: 401,
  [status.NOT_FOUND]: 404,
  [status.RESOURCE_EXHAUSTED]: 429,
  [status.UNIMPLEMENTED]: 501,
  [status.UNAVAILABLE]: 503,
  [status.DEADLINE_EXCEEDED]: 504,
};

/** Returns the HTTP status of a gRPC status, for metrics and logs. */
export function httpStatusOf(code: status): number {
  return HTTP_STATUS[code] ?? 500;
}

/** Returns the gRPC status of a failure with its detail. @param more additional trailers */
export function statusOf({ rpc, error, detail, headers }: Failure, more: readonly Header[]): StatusObject {
  const code = status[rpc];
  const trailers = new Metadata();
  for (const [name, value] of [...more, ...headers]) trailers.set(name, value);
  trailers.set(STATUS_DETAILS, encodeStatus(code, error.message, detail));
  return { code, details: error.message, metadata: trailers };
}

/** Encodes google.rpc.Status: code = 1, message = 2, details = 3, each a google.protobuf.Any. */
function encodeStatus(code: number, message: string, { schema, message: detail }: ErrorDetail): Buffer {
  const bytes = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int32(code)
    .tag(2, WireType.LengthDelimited)
    .string(message)
    .tag(3, WireType.LengthDelimited)
    .fork()
    .tag(1, WireType.LengthDelimited)
    .string(`type.googleapis.com/${schema.typeName}`)
    .tag(2, WireType.LengthDelimited)
    .bytes(toBinary(schema, detail))
    .join()
    .finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
