import { invalidField, fieldPath } from "../../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import type { ParameterInput } from "./inputs.ts";

/** Name and value, both percent-encoded. */
export type Pair = readonly [name: string, value: string];

/** Serialises a query or cookie parameter (OpenAPI 3.1, 4.8.12.3). @throws ToolgateError INVALID_REQUEST */
export function pairsOf(input: ParameterInput, value: JsonValue): Pair[] {
  const { name, style, explode } = input;
  const key = encoded(name, input);
  if (style === "json") return [[key, encoded(JSON.stringify(value), input)]];
  if (value === null) return [];
  if (Array.isArray(value)) {
    const items = value.map((item) => encoded(plain(item, input), input));
    if (items.length === 0) return [];
    if (explode) return items.map((item) => [key, item]);
    return [[key, items.join(DELIMITERS[style] ?? ",")]];
  }
  if (!isJsonObject(value)) return [[key, encoded(plain(value, input), input)]];
  const members = membersOf(value, input);
  if (style === "deepObject") return members.map(([member, one]) => [`${key}%5B${member}%5D`, one]);
  if (explode) return members;
  return members.length === 0 ? [] : [[key, members.flat().join(DELIMITERS[style] ?? ",")]];
}

const DELIMITERS: Partial<Record<ParameterInput["style"], string>> = {
  spaceDelimited: "%20",
  pipeDelimited: "%7C",
};

/** Serialises a path parameter (RFC 6570, 3.2.2, 3.2.5 and 3.2.7). */
export function pathPart(input: ParameterInput, value: JsonValue): string {
  const { name, style, explode } = input;
  const key = encoded(name, input);
  const separator = style === "label" ? "." : style === "matrix" ? ";" : ",";
  const prefix = style === "simple" || style === "json" ? "" : separator;
  const named = style === "matrix" ? `${key}=` : "";
  if (style === "json") return encoded(JSON.stringify(value), input);
  if (Array.isArray(value)) {
    const items = value.map((item) => encoded(plain(item, input), input));
    return explode
      ? prefix + items.map((item) => named + item).join(separator)
      : prefix + named + items.join(",");
  }
  if (!isJsonObject(value)) return prefix + named + encoded(plain(value, input), input);
  const members = membersOf(value, input);
  if (explode) return prefix + members.map(([member, one]) => `${member}=${one}`).join(separator);
  return prefix + named + members.flat().join(",");
}

/** Serialises a header parameter (style simple). */
export function headerValue(input: ParameterInput, value: JsonValue): string {
  if (input.style === "json") return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((item) => plain(item, input)).join(",");
  if (!isJsonObject(value)) return plain(value, input);
  return Object.entries(value)
    .map(([member, one]) => [member, plain(one, input)])
    .map((pair) => pair.join(input.explode ? "=" : ","))
    .join(",");
}

function membersOf(value: JsonObject, input: ParameterInput): Pair[] {
  return Object.entries(value)
    .filter(([, member]) => member !== null)
    .map(([member, one]) => [encoded(member, input), encoded(plain(one, input), input)]);
}

/** @throws ToolgateError for nested lists and objects */
function plain(value: JsonValue, { member }: ParameterInput): string {
  if (typeof value !== "object" || value === null) return String(value ?? "");
  throw invalidField(
    fieldPath([member]),
    "must contain only strings, numbers and booleans, no nested lists or objects",
  );
}

/** Percent-encodes all but unreserved characters (RFC 3986, 2.3): no value ends its segment. */
export function encoded(text: string, { member }: Pick<ParameterInput, "member">): string {
  if (!text.isWellFormed())
    throw invalidField(fieldPath([member]), "must be well-formed Unicode: it has a lone surrogate");
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
