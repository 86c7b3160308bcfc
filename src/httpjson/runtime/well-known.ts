import type { JsonValue } from "@bufbuild/protobuf";
import { fromJson, toJson } from "@bufbuild/protobuf";
import type { Empty, FieldMask, ListValue, Value } from "@bufbuild/protobuf/wkt";
import { ListValueSchema, NullValue, ValueSchema } from "@bufbuild/protobuf/wkt";
import { at, JsonFieldError } from "./json-error.ts";
import { readObject } from "./read.ts";
import { readAnyJson } from "./read-any-json.ts";

// The types of google/protobuf/*.proto with their own JSON form, without those of time-json.ts
// (https://protobuf.dev/programming-guides/json/).

/** Writes paths in lowerCamelCase, with commas. @throws RangeError for one that cannot be read back */
export function fieldMaskToJson({ paths }: FieldMask): string {
  return paths
    .map((path) => {
      const camel = path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
      if (snakeCase(camel) !== path || camel.includes(",")) {
        throw new RangeError(`field mask path has no JSON form: ${path}`);
      }
      return camel;
    })
    .join(",");
}

export function readFieldMask(json: unknown, path: string): FieldMask {
  if (typeof json !== "string" || !/^[A-Za-z0-9.,]*$/.test(json)) {
    throw new JsonFieldError(path, "must be lowerCamelCase field paths separated by commas");
  }
  return { $typeName: "google.protobuf.FieldMask", paths: json === "" ? [] : json.split(",").map(snakeCase) };
}

function snakeCase(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function emptyToJson(_: Empty): Record<string, never> {
  return {};
}

export function readEmpty(json: unknown, path: string, depth: number): Empty {
  const [unknown] = Object.keys(readObject(json, path, depth));
  if (unknown !== undefined) {
    throw new JsonFieldError(at(path, unknown), "unknown field");
  }
  return { $typeName: "google.protobuf.Empty" };
}

/** Writes any JSON value. @throws Error for a Value without a kind, and for NaN and infinities */
export function valueToJson(value: Value): JsonValue {
  return toJson(ValueSchema, value);
}

export function readValue(json: unknown, path: string, depth: number): Value {
  return fromJson(ValueSchema, readAnyJson(json, path, depth));
}

export function listValueToJson(value: ListValue): JsonValue {
  return toJson(ListValueSchema, value);
}

export function readListValue(json: unknown, path: string, depth: number): ListValue {
  if (!Array.isArray(json)) {
    throw new JsonFieldError(path, "must be an array");
  }
  return fromJson(ListValueSchema, readAnyJson(json, path, depth));
}

export function nullValueToJson(_: NullValue): null {
  return null;
}

export function readNullValue(json: unknown, path: string): NullValue {
  if (json !== null && json !== "NULL_VALUE" && json !== 0) {
    throw new JsonFieldError(path, "must be null");
  }
  return NullValue.NULL_VALUE;
}

/** Writes a wrapper message where protobuf-es keeps the message (lists, maps, oneofs). */
export function wrapperToJson<T, J>(value: (value: T) => J): (wrapper: { readonly value: T }) => J {
  return (wrapper) => value(wrapper.value);
}

/** Reads a wrapper message where protobuf-es keeps the message (lists, maps, oneofs). */
export function wrapperFromJson<N extends string, T>(
  $typeName: N,
  value: (json: unknown, path: string) => T,
): (json: unknown, path: string) => { $typeName: N; value: T } {
  return (json, path) => ({ $typeName, value: value(json, path) });
}

/** The identity, for wrappers of values that are their own JSON. */
export function asIs<T>(value: T): T {
  return value;
}
