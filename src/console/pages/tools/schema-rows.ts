import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { asObject, asText } from "../playground/schema.ts";

/** A parameter, or a member of one. */
export interface SchemaRow {
  /** Such as `messages[].role`. */
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** Such as `1 to 100`. */
  readonly limits: string;
}

/** Schemas of custom tools may be deep, or contain themselves by their size. */
const MAX_DEPTH = 5;
const MAX_CHOICES = 8;

/** Returns one row for each parameter and each of its members, in the order of the schema. */
export function schemaRows(schema: JsonObject | undefined): readonly SchemaRow[] {
  return membersOf(asObject(schema), "", 0);
}

function membersOf(schema: JsonObject, prefix: string, depth: number): SchemaRow[] {
  if (depth === MAX_DEPTH) return [];
  const required = listOf(schema["required"]);
  return Object.entries(asObject(schema["properties"])).flatMap(([name, value]) => {
    const member = asObject(value);
    const path = `${prefix}${name}`;
    const row = {
      path,
      type: typeOf(member),
      required: required.includes(name),
      // The models of a tool have a table of their own.
      description: asText(member["description"]).split("\n", 1)[0] ?? "",
      limits: limitsOf(member),
    };
    return [row, ...below(member, path, depth)];
  });
}

function below(member: JsonObject, path: string, depth: number): SchemaRow[] {
  const items = asObject(member["items"]);
  return [...membersOf(member, `${path}.`, depth + 1), ...membersOf(items, `${path}[].`, depth + 1)];
}

function typeOf(schema: JsonObject): string {
  const { type, items } = schema;
  if (type === "array") {
    const item = typeOf(asObject(items));
    return item === "any" ? "array" : `array of ${item}`;
  }
  if (Array.isArray(type)) return type.filter((one) => typeof one === "string").join(" or ");
  if (typeof type === "string") return type;
  const forms = [schema["anyOf"], schema["oneOf"]].flatMap(listOf).map((form) => typeOf(asObject(form)));
  return forms.length > 0 ? [...new Set(forms)].join(" or ") : "any";
}

function limitsOf(schema: JsonObject): string {
  const choices = listOf(schema["enum"]);
  const named = choices.slice(0, MAX_CHOICES).map((choice) => text(choice));
  const others = choices.length - named.length;
  return [
    choices.length > 0 ? `${named.join(", ")}${others > 0 ? ` and ${others} more` : ""}` : "",
    range(schema["minimum"], schema["maximum"], ""),
    range(schema["minLength"], schema["maxLength"], " characters"),
    range(schema["minItems"], schema["maxItems"], " items"),
    schema["default"] === undefined ? "" : `default ${text(schema["default"])}`,
  ]
    .filter((part) => part !== "")
    .join("; ");
}

/** JSON Schema of a safe integer has its whole range as limits, which says nothing. */
function range(from: JsonValue | undefined, to: JsonValue | undefined, unit: string): string {
  const low = typeof from === "number" && from > Number.MIN_SAFE_INTEGER ? from : undefined;
  const high = typeof to === "number" && to < Number.MAX_SAFE_INTEGER ? to : undefined;
  if (low !== undefined && high !== undefined) return `${low} to ${high}${unit}`;
  if (low !== undefined) return `at least ${low}${unit}`;
  return high === undefined ? "" : `at most ${high}${unit}`;
}

function text(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
