import { base64Decode } from "@bufbuild/protobuf/wire";
import type { DescEnum, UnknownEnum } from "@bufbuild/protobuf";
import { isUnknownEnum } from "@bufbuild/protobuf";
import { JsonFieldError } from "./json-error.ts";

// Readers of scalars and enums in ProtoJSON (https://protobuf.dev/programming-guides/json/). Each takes a
// parsed JSON value and the path for its error, and throws JsonFieldError only.

/** Reads a string. Lone surrogates are refused: a protobuf string is UTF-8, which has no form for them. */
export function readString(json: unknown, path: string): string {
  if (typeof json !== "string") {
    throw new JsonFieldError(path, "must be a string");
  }
  if (!json.isWellFormed()) {
    throw new JsonFieldError(path, "must be well-formed Unicode: it has a lone surrogate");
  }
  return json;
}

export function readBool(json: unknown, path: string): boolean {
  if (typeof json !== "boolean") {
    throw new JsonFieldError(path, "must be true or false");
  }
  return json;
}

/** Reads base64 of either alphabet, padded or not. */
export function readBytes(json: unknown, path: string): Uint8Array {
  // Checks the alphabets, because the decoder ignores white space.
  if (typeof json === "string" && /^[\w+/-]*={0,2}$/.test(json)) {
    try {
      return base64Decode(json);
    } catch {
      // Answered below.
    }
  }
  throw new JsonFieldError(path, "must be base64");
}

/** Reads int32, sint32 and sfixed32: a whole number, or its decimal form in a string. */
export function readInt32(json: unknown, path: string): number {
  return readWhole(json, path, -0x8000_0000, 0x7fff_ffff);
}

/** Reads uint32 and fixed32: a whole number, or its decimal form in a string. */
export function readUint32(json: unknown, path: string): number {
  return readWhole(json, path, 0, 0xffff_ffff);
}

function readWhole(json: unknown, path: string, least: number, most: number): number {
  const value = typeof json === "string" ? parseNumber(json) : json;
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new JsonFieldError(path, "must be a whole number");
  }
  if (value < least || value > most) {
    throw new JsonFieldError(path, `must be between ${least} and ${most}`);
  }
  return value === 0 ? 0 : value;
}

/** Reads int64, sint64, sfixed64: numbers within ±(2^53-1), beyond that strings, which keep all digits. */
export function readInt64(json: unknown, path: string): bigint {
  return readWhole64(json, path, -(2n ** 63n), 2n ** 63n - 1n);
}

/** Reads uint64 and fixed64, as {@link readInt64}. */
export function readUint64(json: unknown, path: string): bigint {
  return readWhole64(json, path, 0n, 2n ** 64n - 1n);
}

function readWhole64(json: unknown, path: string, least: bigint, most: bigint): bigint {
  const value = parseWhole64(json, path);
  if (value < least || value > most) {
    throw new JsonFieldError(path, `must be between ${least} and ${most}`);
  }
  return value;
}

function parseWhole64(json: unknown, path: string): bigint {
  if (typeof json === "string" && /^-?\d{1,20}$/.test(json)) {
    return BigInt(json);
  }
  const value = typeof json === "string" ? parseNumber(json) : json;
  if (typeof value !== "number" || !Number.isInteger(value)) {
    throw new JsonFieldError(path, "must be a whole number");
  }
  if (!Number.isSafeInteger(value)) {
    throw new JsonFieldError(path, "must be written as a decimal string beyond ±(2^53-1)");
  }
  return BigInt(value);
}

/** Reads double: a number, its decimal form in a string, or "NaN", "Infinity", "-Infinity". */
export function readDouble(json: unknown, path: string): number {
  if (json === "NaN" || json === "Infinity" || json === "-Infinity") {
    return Number(json);
  }
  const value = typeof json === "string" ? parseNumber(json) : json;
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new JsonFieldError(path, "must be a number");
  }
  return value;
}

/** Reads float: as {@link readDouble}, within the range of 32 bits. */
export function readFloat(json: unknown, path: string): number {
  const value = readDouble(json, path);
  if (Number.isFinite(value) && !Number.isFinite(Math.fround(value))) {
    throw new JsonFieldError(path, "must fit a 32-bit float");
  }
  return value;
}

/** The grammar of JSON numbers, for numbers inside strings (ProtoJSON). Undefined when it is none. */
function parseNumber(text: string): number | undefined {
  return text.length <= 400 && /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)
    ? Number(text)
    : undefined;
}

/** Reads the number of an unknown enum value (enums of proto3 are open). */
export function readUnknownEnum(
  schema: DescEnum,
  names: readonly string[],
  json: unknown,
  path: string,
): UnknownEnum {
  if (
    typeof json === "number" &&
    Number.isInteger(json) &&
    Math.abs(json) <= 0x7fff_ffff &&
    isUnknownEnum(schema, json)
  ) {
    return json;
  }
  throw new JsonFieldError(path, `must be one of ${names.join(", ")}`);
}
