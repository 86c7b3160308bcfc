/** A JSON value as JSON.parse makes it. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object as JSON.parse makes it. */
export type JsonObject = { [member: string]: JsonValue };

/** Tells objects from arrays, null and scalars. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
