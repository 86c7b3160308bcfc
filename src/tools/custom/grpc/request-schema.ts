import {
  getOption,
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  type ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence as Presence } from "@bufbuild/protobuf/wkt";
import { field as fieldRules, Ignore, oneof as oneofRules } from "#gen/buf/validate/validate_pb.ts";
import type { JsonObject } from "../../../domain/core/json.ts";
import { commentAbove } from "./comments.ts";
import { keySchema, scalarSchema, sharedName } from "./scalar-schema.ts";
import { isAny, wellKnownSchema, wrappedScalar } from "./well-known-schema.ts";

/** Returns the schema of a message with one way to write each request: quotes compare what was written. */
export function requestSchema(message: DescMessage): JsonObject {
  const shared: Shared = new Map();
  const special = wellKnownSchema(message);
  if (special) return special;
  const schema = objectSchema(message, shared);
  if (shared.size === 0) return schema;
  return { ...schema, $defs: Object.fromEntries([...shared].map(([name, one]) => [name, one ?? {}])) };
}

/** Schemas by name. Undefined while being written: messages may contain themselves. */
type Shared = Map<string, JsonObject | undefined>;

function objectSchema(message: DescMessage, shared: Shared): JsonObject {
  const fields = message.fields.filter((field) => !isAny(field.message));
  const required = fields.filter(isRequired).map(({ jsonName }) => jsonName);
  const choices = message.oneofs.flatMap(choiceSchema);
  return {
    type: "object",
    ...described(message),
    properties: Object.fromEntries(fields.map((field) => [field.jsonName, fieldSchema(field, shared)])),
    ...(required.length > 0 && { required }),
    ...(choices.length > 0 && { allOf: choices }),
    additionalProperties: false,
  };
}

function fieldSchema(field: DescField, shared: Shared): JsonObject {
  return { ...valueSchema(field, shared), ...described(field) };
}

function valueSchema(field: DescField, shared: Shared): JsonObject {
  switch (field.fieldKind) {
    case "list":
      return { type: "array", items: elementSchema(field, shared) };
    case "map": {
      const keys = keySchema(field.mapKey);
      return {
        type: "object",
        ...(keys && { propertyNames: keys }),
        additionalProperties: elementSchema(field, shared),
      };
    }
    default:
      return elementSchema(field, shared);
  }
}

function elementSchema(field: DescField, shared: Shared): JsonObject {
  if (field.message) return messageSchema(field.message, shared);
  if (field.enum) {
    const declared = field.enum;
    if (declared.typeName === "google.protobuf.NullValue") return { type: "null" };
    return sharedSchema(declared.typeName, shared, () => enumSchema(declared));
  }
  return oneScalarSchema(field.scalar, shared);
}

function messageSchema(message: DescMessage, shared: Shared): JsonObject {
  const wrapped = wrappedScalar(message);
  if (wrapped !== undefined) return oneScalarSchema(wrapped, shared);
  return (
    wellKnownSchema(message) ?? sharedSchema(message.typeName, shared, () => objectSchema(message, shared))
  );
}

function oneScalarSchema(scalar: ScalarType, shared: Shared): JsonObject {
  const name = sharedName(scalar);
  return name === undefined ? scalarSchema(scalar) : sharedSchema(name, shared, () => scalarSchema(scalar));
}

function enumSchema(declared: DescEnum): JsonObject {
  const names = [...new Set(declared.values.map(({ jsonName }) => jsonName))];
  return { type: "string", enum: names, ...described(declared) };
}

function sharedSchema(name: string, shared: Shared, write: () => JsonObject): JsonObject {
  if (!shared.has(name)) {
    shared.set(name, undefined);
    shared.set(name, write());
  }
  return { $ref: `#/$defs/${name}` };
}

/** At most one member, or exactly one if protovalidate requires it. */
function choiceSchema(oneof: DescOneof): JsonObject[] {
  const members = oneof.fields
    .filter((field) => !isAny(field.message))
    .map(({ jsonName }) => ({ required: [jsonName] }));
  if (members.length === 0) return [];
  const must = getOption(oneof, oneofRules).required;
  return [{ oneOf: must ? members : [...members, { not: { anyOf: members } }] }];
}

/** Required by proto2 or by protovalidate. */
function isRequired(field: DescField): boolean {
  if (field.presence === Presence.LEGACY_REQUIRED) return true;
  const { required, ignore } = getOption(field, fieldRules);
  return required && ignore !== Ignore.ALWAYS && field.oneof === undefined;
}

function described(desc: DescMessage | DescEnum | DescField): JsonObject {
  const description = commentAbove(desc);
  return { ...(description !== undefined && { description }), ...(desc.deprecated && { deprecated: true }) };
}
