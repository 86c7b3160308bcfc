/** A value that can be written as JSON; 64-bit integers stay bigint until they are written. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/** `JSON.rawJSON` is part of V8 but not yet of TypeScript's libraries. */
declare global {
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

/**
 * Writes JSON the way a validator does: u64 values as bare digits, never rounded to a double
 * (`rentEpoch` is 2^64-1 on every rent-exempt account).
 */
export function writeJson(value: Json): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "bigint" ? JSON.rawJSON(member.toString()) : member,
  );
}

/** Whether a parsed JSON value is an object, so that its members may be looked at. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function toJson(value: unknown): Json {
  if (
    value === null ||
    typeof value === "boolean" ||
    typeof value === "number" ||
    typeof value === "string"
  ) {
    return value;
  }
  if (Array.isArray(value)) return value.map(toJson);
  if (!isObject(value)) throw new TypeError(`not JSON: ${typeof value}`);
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toJson(member)]));
}
