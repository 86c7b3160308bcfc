import { ScalarType, type DescMessage } from "@bufbuild/protobuf";
import type { JsonObject } from "../../../domain/json.ts";
import { positiveUpTo } from "./decimal-pattern.ts";

/** RFC 3339, from the year 1 on, with at most nanoseconds. */
const TIMESTAMP =
  "^(?!0000)[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$";

/** Seconds, about 10,000 years at most (google/protobuf/duration.proto). */
const MAX_SECONDS = 315_576_000_000n;
const DURATION = `^-?(?:(?:0|${positiveUpTo(MAX_SECONDS - 1n)})(?:\\.[0-9]{1,9})?|${MAX_SECONDS})s$`;

/** Paths of names in lowerCamelCase, separated by commas. */
const PATH = "[a-z][A-Za-z0-9]*(?:\\.[a-z][A-Za-z0-9]*)*";

/** Messages that are something else in JSON than objects of their fields (protobuf.dev, ProtoJSON format). */
const SPECIAL: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Timestamp": { type: "string", format: "date-time", pattern: TIMESTAMP },
  "google.protobuf.Duration": { type: "string", pattern: DURATION, description: 'Seconds, such as "1.5s".' },
  "google.protobuf.FieldMask": { type: "string", pattern: `^(?:${PATH}(?:,${PATH})*)?$` },
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.Value": {},
};

/** Messages that are in JSON the one value that they hold (google/protobuf/wrappers.proto). */
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

/** The scalar that a wrapper is in JSON; undefined for other messages. */
export function wrappedScalar({ typeName }: DescMessage): ScalarType | undefined {
  return Object.hasOwn(WRAPPERS, typeName) ? WRAPPERS[typeName] : undefined;
}

/** The schema of a message that has a form of its own in JSON; undefined: an object of its fields, or a wrapper. */
export function wellKnownSchema({ typeName }: DescMessage): JsonObject | undefined {
  return Object.hasOwn(SPECIAL, typeName) ? SPECIAL[typeName] : undefined;
}

/** A message of any type: no schema can say what is in it, so that no parameter takes one. */
export function isAny(message: DescMessage | undefined): boolean {
  return message?.typeName === "google.protobuf.Any";
}

/** Whether a message is an object in JSON. */
export function isObject(message: DescMessage): boolean {
  if (wrappedScalar(message) !== undefined) return false;
  const schema = wellKnownSchema(message);
  return schema === undefined || schema["type"] === "object";
}
