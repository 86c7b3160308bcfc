import { invalidField } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** Returns the objects of a list. @throws ToolgateError INVALID_REQUEST */
export function objectsAt(value: JsonValue | undefined, path: string): readonly JsonObject[] {
  if (!Array.isArray(value)) throw invalidField(`params.${path}`, "must be a list");
  return value.map((item, at) => {
    if (!isJsonObject(item)) throw invalidField(`params.${path}[${at}]`, "must be an object");
    return item;
  });
}

/** @throws ToolgateError INVALID_REQUEST */
export function textAt(object: JsonObject, member: string, path: string): string {
  const text = object[member];
  if (typeof text !== "string") throw invalidField(`params.${path}.${member}`, "is required, a string");
  return text;
}

/** Returns the members that are not null, which stands for a default. */
export function present(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** Returns the members that are defined. */
export function defined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
