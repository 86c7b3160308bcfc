import { ScalarType } from "@bufbuild/protobuf";
import type { JsonObject } from "../../../domain/core/json.ts";
import { integerPattern } from "./decimal-pattern.ts";

const INT32 = [-(2n ** 31n), 2n ** 31n - 1n] as const;
const UINT32 = [0n, 2n ** 32n - 1n] as const;
const INT64 = [-(2n ** 63n), 2n ** 63n - 1n] as const;
const UINT64 = [0n, 2n ** 64n - 1n] as const;

const MAX_FLOAT32 = 3.4028234663852886e38;

/** Standard base64 with padding, so that each value has one form. */
const BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

type Range = readonly [least: bigint, most: bigint];

/** Returns the schema of a scalar in ProtoJSON, restricted to one form per value where possible. */
export function scalarSchema(scalar: ScalarType): JsonObject {
  const range = rangeOf(scalar);
  if (range) return isLong(scalar) ? longSchema(range) : integerSchema(range);
  switch (scalar) {
    case ScalarType.DOUBLE:
      return numberSchema({});
    case ScalarType.FLOAT:
      return numberSchema({ minimum: -MAX_FLOAT32, maximum: MAX_FLOAT32 });
    case ScalarType.BOOL:
      return { type: "boolean" };
    case ScalarType.BYTES:
      return { type: "string", contentEncoding: "base64", pattern: BASE64 };
    default:
      return { type: "string" };
  }
}

/** Returns the schema of a map key, a string in JSON. Undefined: any string. */
export function keySchema(key: ScalarType): JsonObject | undefined {
  if (key === ScalarType.BOOL) return { enum: ["true", "false"] };
  const range = rangeOf(key);
  return range && { pattern: integerPattern(...range) };
}

/** Returns the name of a schema shared through $defs. `$` cannot occur in protobuf names. */
export function sharedName(scalar: ScalarType): string | undefined {
  if (!isLong(scalar)) return undefined;
  return rangeOf(scalar) === INT64 ? "$int64" : "$uint64";
}

function rangeOf(scalar: ScalarType): Range | undefined {
  switch (scalar) {
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return INT32;
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return UINT32;
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return INT64;
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return UINT64;
    default:
      return undefined;
  }
}

function isLong(scalar: ScalarType): boolean {
  const range = rangeOf(scalar);
  return range === INT64 || range === UINT64;
}

function integerSchema([least, most]: Range): JsonObject {
  return { type: "integer", minimum: Number(least), maximum: Number(most) };
}

/** A string, or a number within the safe integers. */
function longSchema([least, most]: Range): JsonObject {
  const exact = { minimum: least < 0n ? Number.MIN_SAFE_INTEGER : 0, maximum: Number.MAX_SAFE_INTEGER };
  return {
    anyOf: [
      { type: "string", pattern: integerPattern(least, most) },
      { type: "integer", ...exact },
    ],
  };
}

function numberSchema(bounds: JsonObject): JsonObject {
  return { anyOf: [{ type: "number", ...bounds }, { enum: ["NaN", "Infinity", "-Infinity"] }] };
}
