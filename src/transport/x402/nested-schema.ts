import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** Members whose values are texts for readers. */
const WORDS: ReadonlySet<string> = new Set(["description", "title", "examples", "default", "$comment"]);
/** Members whose members are named by the tool, so that `title` there is a parameter. */
const NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions", "patternProperties"]);
/** Members whose values are data. */
const DATA: ReadonlySet<string> = new Set(["const", "enum", "required"]);

/** Returns the schema as a part of another document, at `pointer` there: its references are made longer. */
export function nestedSchema(schema: JsonObject, pointer: string, words = true): JsonObject {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  return nestedObject(rest, pointer, words);
}

function nestedObject(schema: JsonObject, pointer: string, words: boolean): JsonObject {
  const entries = Object.entries(schema).flatMap(([name, value]): [string, JsonValue][] => {
    if (WORDS.has(name)) return words ? [[name, value]] : [];
    if (DATA.has(name)) return [[name, value]];
    if (name === "$ref" && typeof value === "string" && value.startsWith("#"))
      return [[name, pointer + value.slice(1)]];
    if (NAMED.has(name) && isJsonObject(value)) return [[name, named(value, pointer, words)]];
    return [[name, nested(value, pointer, words)]];
  });
  return Object.fromEntries(entries);
}

function named(schemas: JsonObject, pointer: string, words: boolean): JsonObject {
  const entries = Object.entries(schemas).map(([name, value]): [string, JsonValue] => [
    name,
    nested(value, pointer, words),
  ]);
  return Object.fromEntries(entries);
}

function nested(value: JsonValue, pointer: string, words: boolean): JsonValue {
  if (Array.isArray(value)) return value.map((one) => nested(one, pointer, words));
  return isJsonObject(value) ? nestedObject(value, pointer, words) : value;
}
