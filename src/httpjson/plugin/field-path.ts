import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { ScalarType } from "@bufbuild/protobuf";
import type { ParameterKind } from "../runtime/route.ts";

/** A field reached from a request message, the steps to it included. */
export type FieldPath = readonly DescField[];

/** A request field that a query parameter may set. */
export interface QueryField {
  readonly path: FieldPath;
  readonly kind: ParameterKind;
  readonly repeated: boolean;
}

/** Messages that are one string in JSON, so that a query parameter can hold them. */
const textMessages: ReadonlySet<string> = new Set([
  "google.protobuf.Timestamp",
  "google.protobuf.Duration",
  "google.protobuf.FieldMask",
]);

/** Messages with their own JSON form instead of an object: their fields are not parameters. */
const opaqueMessages: ReadonlySet<string> = new Set([
  "google.protobuf.Struct",
  "google.protobuf.Value",
  "google.protobuf.ListValue",
  "google.protobuf.Any",
  "google.protobuf.Empty",
]);

/** Follows a path of proto names; undefined when a step is missing or is no singular message. */
export function resolveFieldPath(message: DescMessage, dotted: string): FieldPath | undefined {
  const path: DescField[] = [];
  let parent: DescMessage | undefined = message;
  for (const name of dotted.split(".")) {
    const field: DescField | undefined = parent?.fields.find((candidate) => candidate.name === name);
    if (field === undefined) {
      return undefined;
    }
    path.push(field);
    parent = field.fieldKind === "message" && !hasOwnJson(field.message) ? field.message : undefined;
  }
  return path;
}

/**
 * The fields that query parameters may set: scalars, enums, repeated ones of these, and messages that are one
 * string in JSON; in nested messages too, but not twice through the same message type.
 *
 * @param bound dotted names of the fields that path and body set
 */
export function queryFields(message: DescMessage, bound: ReadonlySet<string>): QueryField[] {
  return [...walk(message, [], new Set(), bound)];
}

function* walk(
  message: DescMessage,
  prefix: FieldPath,
  outer: ReadonlySet<string>,
  bound: ReadonlySet<string>,
): Iterable<QueryField> {
  for (const field of message.fields) {
    const path = [...prefix, field];
    if (bound.has(dottedName(path))) {
      continue;
    }
    const kind = parameterKind(field);
    if (kind !== undefined) {
      yield { path, kind, repeated: field.fieldKind === "list" };
    } else if (
      field.fieldKind === "message" &&
      !hasOwnJson(field.message) &&
      !outer.has(field.message.typeName)
    ) {
      yield* walk(field.message, path, new Set([...outer, message.typeName]), bound);
    }
  }
}

/** How a string becomes the field's JSON; undefined when no single string can. */
export function parameterKind(field: DescField): ParameterKind | undefined {
  if (field.fieldKind === "map" || (field.fieldKind === "list" && field.listKind === "message")) {
    return undefined;
  }
  if (field.enum !== undefined) {
    return field.enum.typeName === "google.protobuf.NullValue" ? undefined : "enum";
  }
  if (field.message !== undefined) {
    if (isWrapperDesc(field.message)) {
      return scalarKind(field.message.fields[0].scalar);
    }
    return textMessages.has(field.message.typeName) ? "text" : undefined;
  }
  return scalarKind(field.scalar);
}

function scalarKind(scalar: ScalarType): ParameterKind {
  switch (scalar) {
    case ScalarType.BOOL:
      return "bool";
    case ScalarType.STRING:
    case ScalarType.BYTES:
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return "text";
    default:
      return "integer";
  }
}

/** Whether a message is a single string, number or boolean in JSON: no object or array. */
export function isOneValue(message: DescMessage): boolean {
  return textMessages.has(message.typeName) || isWrapperDesc(message);
}

function hasOwnJson(message: DescMessage): boolean {
  return opaqueMessages.has(message.typeName) || isOneValue(message);
}

/** The path in proto names, `book.name`. */
export function dottedName(path: FieldPath): string {
  return path.map((field) => field.name).join(".");
}
