import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";
import { omitted } from "./omitted.ts";
import { MAX_RESULT_DEPTH, MAX_RESULT_BYTES, sizeOf } from "./result-check.ts";

/**
 * Returns a result that every transport can deliver. Replaces parts that nest too deeply or are not valid
 * JSON, and a result that is too long as a whole. The server has done its work, so the call is still
 * charged.
 */
export function deliverable(result: JsonObject): JsonObject {
  if (fits(result, MAX_RESULT_DEPTH)) return result;
  const fit: JsonObject = {};
  for (const [name, value] of Object.entries(result))
    define(fit, name.toWellFormed(), fitted(value, MAX_RESULT_DEPTH - 1));
  return fits(fit, MAX_RESULT_DEPTH)
    ? fit
    : omitted("too_long", `the answer is longer than ${MAX_RESULT_BYTES} bytes`, bytesOf(result));
}

function fits(value: JsonValue, levels: number): boolean {
  const size = sizeOf(value, levels);
  return size !== undefined && size <= MAX_RESULT_BYTES;
}

function fitted(value: JsonValue, levels: number): JsonValue {
  if (typeof value === "string" && !value.isWellFormed())
    return omitted("not_json", "the text has a lone surrogate", Buffer.byteLength(value));
  if (typeof value === "number" && !Number.isFinite(value))
    return omitted("not_json", "the number is not finite", null);
  if (typeof value !== "object" || value === null) return value;
  // A placeholder for a member would need one more level.
  if (levels === 1 && sizeOf(value, levels) === undefined)
    return omitted("too_deep", `the answer nests deeper than ${MAX_RESULT_DEPTH} levels`, bytesOf(value));
  if (Array.isArray(value)) return value.map((item) => fitted(item, levels - 1));
  if (!isJsonObject(value)) return null;
  const fit: JsonObject = {};
  for (const [name, member] of Object.entries(value))
    define(fit, name.toWellFormed(), fitted(member, levels - 1));
  return fit;
}

/** Defines members of any name, including __proto__. */
function define(object: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** Bytes as JSON; null if it nests too deeply to serialise. */
function bytesOf(value: JsonValue): number | null {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch {
    return null;
  }
}
