import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { at, JsonFieldError, shorten } from "./json-error.ts";
import { readString } from "./read-scalar.ts";
import { isObject } from "./read.ts";

// JSON of no given shape, for google.protobuf.Struct, Value and ListValue.

/** Reads google.protobuf.Struct, which protobuf-es keeps as the JSON object itself. */
export function readStruct(json: unknown, path: string, depth: number): JsonObject {
  if (!isObject(json)) {
    throw new JsonFieldError(path, "must be an object");
  }
  const value = readAnyJson(json, path, depth);
  if (!isJsonObject(value)) {
    throw new JsonFieldError(path, "must be an object");
  }
  return value;
}

function isJsonObject(json: JsonValue): json is JsonObject {
  return isObject(json);
}

/** Reads any JSON value that protobuf's Value holds: no lone surrogates, huge numbers or deep nesting. */
export function readAnyJson(json: unknown, path: string, depth: number): JsonValue {
  if (!isSound(json, depth)) {
    throw findProblem(json, path, depth);
  }
  return json;
}

/** The fast walk, without paths: bodies are mostly valid. */
function isSound(json: unknown, depth: number): json is JsonValue {
  switch (typeof json) {
    case "string":
      return json.isWellFormed();
    case "number":
      return Number.isFinite(json);
    case "boolean":
      return true;
    case "object":
      break;
    default:
      return false;
  }
  if (json === null) {
    return true;
  }
  if (depth <= 0) {
    return false;
  }
  if (Array.isArray(json)) {
    for (const item of json) {
      if (!isSound(item, depth - 1)) {
        return false;
      }
    }
    return true;
  }
  if (!isObject(json)) {
    return false;
  }
  for (const name in json) {
    if (!name.isWellFormed() || !isSound(json[name], depth - 1)) {
      return false;
    }
  }
  return true;
}

/** The slow walk: finds the error and its path. */
function findProblem(json: unknown, path: string, depth: number): JsonFieldError {
  if (typeof json === "number") {
    return new JsonFieldError(path, "must be a number in the range of double");
  }
  if (typeof json === "string") {
    return new JsonFieldError(path, "must be well-formed Unicode: it has a lone surrogate");
  }
  if (typeof json !== "object" || json === null) {
    return new JsonFieldError(path, "must be a JSON value");
  }
  if (depth <= 0) {
    return new JsonFieldError(path, "nested too deeply");
  }
  const isArray = Array.isArray(json);
  for (const [name, value] of Object.entries(json)) {
    const member = isArray ? `${path}[${name}]` : at(path, shorten(name));
    readString(name, member);
    if (!isSound(value, depth - 1)) {
      return findProblem(value, member, depth - 1);
    }
  }
  return new JsonFieldError(path, "must be a JSON value");
}
