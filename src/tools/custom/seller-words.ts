import { type JsonObject, isJsonObject, type JsonValue } from "../../domain/core/json.ts";

/** Characters. */
const MAX_DESCRIPTION_LENGTH = 1_000;
const MAX_SCHEMA_TEXT_LENGTH = 500;

/**
 * Returns a server's description in quotes, on one line. Models read it beside the gateway's own words and
 * must not take it for them.
 */
export function quotedDescription(text: string): string {
  const words = oneLine(text, MAX_DESCRIPTION_LENGTH).replaceAll(/[“”„‟«»]/g, '"');
  return `In the words of its seller, as are those of its parameters: “${words}”`;
}

/** JSON Schema: members that hold schemas by name, members that hold data, and texts for readers. */
const MAPS = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);
const DATA = new Set(["enum", "const", "default", "example", "examples"]);
const TEXTS = new Set(["title", "description", "$comment"]);

/** Returns a server's schema with its texts on one line each, cut to a length. */
export function withShortTexts(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, shortened(name, value)]));
}

function shortened(name: string, value: JsonValue): JsonValue {
  if (typeof value === "string") return TEXTS.has(name) ? oneLine(value, MAX_SCHEMA_TEXT_LENGTH) : value;
  if (DATA.has(name)) return value;
  if (Array.isArray(value)) return value.map((one) => (isJsonObject(one) ? withShortTexts(one) : one));
  if (!isJsonObject(value)) return value;
  if (!MAPS.has(name)) return withShortTexts(value);
  const schemas = Object.entries(value).map(([key, one]): [string, JsonValue] => [
    key,
    isJsonObject(one) ? withShortTexts(one) : one,
  ]);
  return Object.fromEntries(schemas);
}

/** Without line breaks, and characters that are not seen or change the direction of text. */
function oneLine(text: string, most: number): string {
  const line = text.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return line.length > most ? `${line.slice(0, most).toWellFormed()}…` : line;
}
