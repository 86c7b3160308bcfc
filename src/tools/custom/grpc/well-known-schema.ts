import { ScalarType, type DescMessage } from "@bufbuild/protobuf";
import type { JsonObject } from "../../../domain/core/json.ts";
import { positiveUpTo } from "./decimal-pattern.ts";

/** RFC 3339, from year 1, up to nanoseconds. */
const TIMESTAMP =
  "^(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$";

/** About 10,000 years (google/protobuf/duration.proto). */
const MAX_SECONDS = 315_576_000_000n;
const DURATION = `^-?(?:(?:0|${positiveUpTo(MAX_SECONDS - 1n)})(?:\\.[0-9]{1,9})?|${MAX_SECONDS})s$`;

/** Comma-separated paths in lowerCamelCase. */
const PATH = "[a-z][A-Za-z0-9]*(?:\\.[a-z][A-Za-z0-9]*)*";

/** Messages with a JSON form of their own (ProtoJSON format). */
const SPECIAL: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time", pattern: TIMESTAMP },
  "google.protobuf.Duration": { type: "string", pattern: DURATION, description: 'Seconds, such as "1.5s".' },
  "google.protobuf.FieldMask": { type: "string", pattern: `^(?:${PATH}(?:,${PATH})*)?$` },
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.Value": {},
};

/** google/protobuf/wrappers.proto */
const WRAPPERS: Readonly<Record<string, ScalarType>> = {
  "google.protobuf.DoubleValue": ScalarType.DOUBLE,
  "google.protobuf.FloatValue": ScalarType.FLOAT,
  "google.protobuf.Int64Value": ScalarType.INT64,
  "google.protobuf.UInt64Value": ScalarType.UINT64,
  "google.protobuf.Int32Value": ScalarType.INT32,
  "google.protobuf.UInt32Value": ScalarType.UINT32,
  "google.protobuf.BoolValue": ScalarType.BOOL,
  "google.protobuf.StringValue": ScalarType.STRING,
  "google.protobuf.BytesValue": ScalarType.BYTES,
};

/** Returns the scalar type of a wrapper message; undefined for other messages. */
export function wrappedScalar({ typeName }: DescMessage): ScalarType | undefined {
  return Object.hasOwn(WRAPPERS, typeName) ? WRAPPERS[typeName] : undefined;
}

/** Returns the schema of a message with a JSON form of its own; undefined for others. */
export function wellKnownSchema({ typeName }: DescMessage): JsonObject | undefined {
  return Object.hasOwn(SPECIAL, typeName) ? SPECIAL[typeName] : undefined;
}

/** No schema can describe its content, so parameters cannot contain it. */
export function isAny(message: DescMessage | undefined): boolean {
  return message?.typeName === "google.protobuf.Any";
}

/** Whether the message is an object in JSON. */
export function isObject(message: DescMessage): boolean {
  if (wrappedScalar(message) !== undefined) return false;
  const schema = wellKnownSchema(message);
  return schema === undefined || schema["type"] === "object";
}
