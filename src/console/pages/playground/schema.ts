import { fromJsonString, toJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";

type FieldKind = "line" | "text" | "integer" | "number" | "boolean" | "choice" | "json";

/** A parameter of a tool, from its JSON Schema. */
export interface ParamField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly description: string;
  readonly options: readonly string[];
}

/** Typed text by field; empty means omitted. */
export type ParamTexts = Readonly<Record<string, string>>;

/** Returns the fields of a tool, required ones first. */
export function fieldsFromSchema(schema: JsonObject | undefined): readonly ParamField[] {
  const required = asList(schema?.["required"]);
  return Object.entries(asObject(schema?.["properties"]))
    .map(([name, value]) => toField(name, asObject(value), required.includes(name)))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function toField(name: string, schema: JsonObject, required: boolean): ParamField {
  const options = asList(schema["enum"]);
  const description = asText(schema["description"]);
  return { name, kind: fieldKind(schema, options), required, description, options };
}

function fieldKind(schema: JsonObject, options: readonly string[]): FieldKind {
  if (options.length > 0) return "choice";
  switch (schema["type"]) {
    case "string":
      return /code|prompt|source|script/i.test(asText(schema["title"]) + asText(schema["description"]))
        ? "text"
        : "line";
    case "integer":
    case "number":
    case "boolean":
      return schema["type"];
    default:
      return "json";
  }
}

export function paramsFromTexts(
  fields: readonly ParamField[],
  texts: ParamTexts,
): { params: JsonObject; fieldErrors: Readonly<Record<string, string>> } {
  const params: JsonObject = {};
  const fieldErrors: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? "";
    if (text === "") {
      if (field.required) fieldErrors[field.name] = "Required";
      continue;
    }
    const value = parseValue(field.kind, text);
    if ("error" in value) fieldErrors[field.name] = value.error;
    else params[field.name] = value.value;
  }
  return { params, fieldErrors };
}

function parseValue(kind: FieldKind, text: string): { value: JsonValue } | { error: string } {
  switch (kind) {
    case "integer":
      return /^-?\d{1,16}$/.test(text.trim()) ? { value: Number(text) } : { error: "Enter a whole number" };
    case "number":
      return text.trim() !== "" && Number.isFinite(Number(text))
        ? { value: Number(text) }
        : { error: "Enter a number" };
    case "boolean":
      return { value: text === "true" };
    case "json":
      return parseJson(text);
    default:
      return { value: text };
  }
}

export function parseJson(text: string): { value: JsonValue } | { error: string } {
  try {
    return { value: toJson(ValueSchema, fromJsonString(ValueSchema, text)) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { error: `Invalid JSON: ${said.replace(/^cannot decode message \S+ from JSON: /, "")}` };
  }
}

export function formatValue(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}

export function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

export function asText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function asList(value: JsonValue | undefined): string[] {
  return Array.isArray(value)
    ? value.map((one) => (typeof one === "string" ? one : JSON.stringify(one)))
    : [];
}
