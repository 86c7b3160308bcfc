/** A value returned by JSON.parse. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

export type JsonObject = { [member: string]: JsonValue };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an empty object for other values. */
export function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the objects of a list; none for other values. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Returns an empty text for other values. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

/** Returns an object without the members that are undefined. */
export function defined(members: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const entries = Object.entries(members);
  return Object.fromEntries(entries.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** Returns undefined for other text than JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sets a member of any name, including __proto__. */
export function setMember(object: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}
