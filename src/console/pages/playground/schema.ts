import { fromJsonString, toJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";

/** How a parameter is filled in. */
type FieldKind = "line" | "text" | "integer" | "number" | "boolean" | "choice" | "json";

/** One parameter of a tool, as its JSON Schema has it. */
export interface ParamField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly required: boolean;
  readonly description: string;
  /** What can be chosen. */
  readonly options: readonly string[];
}

/** What is typed into each field; empty: left out. */
export type ParamTexts = Readonly<Record<string, string>>;

/** The fields of a tool's form, those that have to be filled in first. */
export function fieldsOf(schema: JsonObject | undefined): readonly ParamField[] {
  const required = listOf(schema?.["required"]);
  return Object.entries(objectOf(schema?.["properties"]))
    .map(([name, value]) => fieldOf(name, objectOf(value), required.includes(name)))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function fieldOf(name: string, schema: JsonObject, required: boolean): ParamField {
  const options = listOf(schema["enum"]);
  const description = textOf(schema["description"]);
  return { name, kind: kindOf(schema, options), required, description, options };
}

function kindOf(schema: JsonObject, options: readonly string[]): FieldKind {
  if (options.length > 0) return "choice";
  switch (schema["type"]) {
    case "string":
      return /code|prompt|source|script/i.test(textOf(schema["title"]) + textOf(schema["description"]))
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

/** What the fields say as the call's `params`, or what is wrong with which of them. */
export function paramsOf(
  fields: readonly ParamField[],
  texts: ParamTexts,
): { params: JsonObject; faults: Readonly<Record<string, string>> } {
  const params: JsonObject = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? "";
    if (text === "") {
      if (field.required && !["line", "text"].includes(field.kind)) faults[field.name] = "Fill this in";
      else if (field.required) params[field.name] = "";
      continue;
    }
    const value = valueOf(field.kind, text);
    if ("fault" in value) faults[field.name] = value.fault;
    else params[field.name] = value.value;
  }
  return { params, faults };
}

function valueOf(kind: FieldKind, text: string): { value: JsonValue } | { fault: string } {
  switch (kind) {
    case "integer":
      return /^-?\d{1,16}$/.test(text.trim()) ? { value: Number(text) } : { fault: "Enter a whole number" };
    case "number":
      return text.trim() !== "" && Number.isFinite(Number(text))
        ? { value: Number(text) }
        : { fault: "Enter a number" };
    case "boolean":
      return { value: text === "true" };
    case "json":
      return jsonOf(text);
    default:
      return { value: text };
  }
}

/** Reads JSON, e.g. what a person has typed. */
export function jsonOf(text: string): { value: JsonValue } | { fault: string } {
  try {
    return { value: toJson(ValueSchema, fromJsonString(ValueSchema, text)) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { fault: `This is not JSON: ${said.replace(/^cannot decode message \S+ from JSON: /, "")}` };
  }
}

/** A value as its field shows it. */
export function textOfValue(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
}

/** An object, or an empty one in the place of anything else. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** A text, or an empty one in the place of anything else. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function listOf(value: JsonValue | undefined): string[] {
  return Array.isArray(value)
    ? value.map((one) => (typeof one === "string" ? one : JSON.stringify(one)))
    : [];
}
