import { BinaryReader } from "@bufbuild/protobuf/wire";
import { fromBinary } from "@bufbuild/protobuf";
import { AnySchema, DurationSchema, type Duration } from "@bufbuild/protobuf/wkt";
import { Metadata, type ServiceError, type status } from "@grpc/grpc-js";

/** Trailer with a google.rpc.Status (grpc.io, richer error model). */
const STATUS_DETAILS = "grpc-status-details-bin";

const MAX_RETRY_SECONDS = 3_600;

/** Returns the status of a grpc-js error; undefined for other errors. */
export function codeOf(error: unknown): status | undefined {
  return isServiceError(error) ? error.code : undefined;
}

/** Returns the delay of google.rpc.RetryInfo in whole seconds, if any. */
export function retryAfterSeconds(error: unknown): number | undefined {
  if (!isServiceError(error)) return undefined;
  const [details] = error.metadata.get(STATUS_DETAILS);
  if (!(details instanceof Uint8Array)) return undefined;
  try {
    const delay = retryDelay(details);
    if (!delay) return undefined;
    const seconds = Number(delay.seconds) + (delay.nanos > 0 ? 1 : 0);
    return Math.min(Math.max(seconds, 1), MAX_RETRY_SECONDS);
  } catch {
    return undefined;
  }
}

function isServiceError(error: unknown): error is ServiceError {
  return (
    error instanceof Error && "code" in error && "metadata" in error && error.metadata instanceof Metadata
  );
}

/** google.rpc.Status: details = 3, each a google.protobuf.Any; google.rpc.RetryInfo: retry_delay = 1. */
function retryDelay(details: Uint8Array): Duration | undefined {
  for (const detail of messagesOf(details, 3)) {
    const { typeUrl, value } = fromBinary(AnySchema, detail, { readUnknownFields: false });
    if (typeUrl !== "type.googleapis.com/google.rpc.RetryInfo") continue;
    const [delay] = messagesOf(value, 1);
    if (delay) return fromBinary(DurationSchema, delay, { readUnknownFields: false });
  }
  return undefined;
}

/** Returns the encoded submessages of a field. */
function messagesOf(bytes: Uint8Array, field: number): Uint8Array[] {
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === field) found.push(reader.bytes());
    else reader.skip(wireType, number);
  }
  return found;
}
