import { invalidField } from "../../../domain/errors.ts";
import { fieldPath } from "../../../domain/field-path.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/json.ts";
import type { ParameterInput } from "./inputs.ts";

/** A name and a value of a query or a form, both as they are sent. */
export type Pair = readonly [name: string, value: string];

/**
 * Writes a parameter as its style asks (OpenAPI 3.1, 4.8.12.3). Nulls, and lists and objects without anything in them, are left out.
 * @returns for a query, pairs; undefined: there is nothing to send
 * @throws ToolgateError INVALID_REQUEST for values that the style has no form for
 */
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

/** Writes a parameter of the path, percent-encoded (RFC 6570, 3.2.2, 3.2.5 and 3.2.7). */
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

/** Writes a parameter of a header (style simple), as it is. */
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

/** @throws ToolgateError for lists and objects inside of others, which no style has a form for */
function plain(value: JsonValue, { member }: ParameterInput): string {
  if (typeof value !== "object" || value === null) return String(value ?? "");
  throw invalidField(
    fieldPath([member]),
    "must hold texts, numbers and booleans only, no lists or objects inside",
  );
}

/** Percent-encoded but for the unreserved characters (RFC 3986, 2.3): nothing in it can end a segment, a parameter or a query. */
export function encoded(text: string, { member }: Pick<ParameterInput, "member">): string {
  if (!text.isWellFormed())
    throw invalidField(fieldPath([member]), "must be well-formed Unicode: it has a lone surrogate");
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
