import { at, JsonFieldError, shorten } from "./json-error.ts";
import { readInt32, readInt64, readString, readUint32, readUint64 } from "./read-scalar.ts";

// Readers of objects, lists and maps. Each takes a parsed JSON value, the path for its error and the levels
// of nesting that are left, and throws JsonFieldError only.

/** How many levels of objects and arrays a request may nest. */
export const defaultMaxDepth = 64;

/** Reads one value; `depth` is how many levels of nesting it may still open. */
export type Reader<T> = (json: unknown, path: string, depth: number) => T;

/** Reads a JSON object; its members are read by the caller. */
export function readObject(json: unknown, path: string, depth: number): Readonly<Record<string, unknown>> {
  if (!isObject(json)) {
    throw new JsonFieldError(path, "must be an object");
  }
  refuseDepth(path, depth);
  return json;
}

/** Whether a JSON value is an object, not an array and not null. */
export function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}

/** Refuses an object with one field under both of its names. Called when `alias` is present. */
export function refuseBoth(
  object: Readonly<Record<string, unknown>>,
  path: string,
  name: string,
  alias: string,
): void {
  if (Object.hasOwn(object, name)) {
    throw new JsonFieldError(at(path, name), `given twice, as ${name} and as ${alias}`);
  }
}

/** Refuses a second member of a oneof. `chosen` is the member read before, if any. */
export function refuseSecond(chosen: string | undefined, path: string, oneof: string): void {
  if (chosen !== undefined) {
    throw new JsonFieldError(path, `only one member of ${oneof} may be given`);
  }
}

export function readList<T>(json: unknown, path: string, depth: number, item: Reader<T>): T[] {
  if (!Array.isArray(json)) {
    throw new JsonFieldError(path, "must be an array");
  }
  refuseDepth(path, depth);
  return json.map((value: unknown, index) => item(value, `${path}[${index}]`, depth - 1));
}

/** Reads a map field. `key` refuses names that are not in the one canonical form of the key's type. */
export function readMap<T>(
  json: unknown,
  path: string,
  depth: number,
  key: (name: string, path: string) => void,
  item: Reader<T>,
): { [key: string]: T } {
  const object = readObject(json, path, depth);
  const map: { [key: string]: T } = {};
  for (const name of Object.keys(object)) {
    const entry = `${path}[${JSON.stringify(shorten(name))}]`;
    key(name, entry);
    setOwn(map, name, item(object[name], entry, depth - 1));
  }
  return map;
}

/** Adds a member whose name may be `__proto__`, which plain assignment would treat as the prototype. */
export function setOwn<T>(map: { [key: string]: T }, name: string, value: T): void {
  if (name === "__proto__") {
    Object.defineProperty(map, name, { value, writable: true, enumerable: true, configurable: true });
  } else {
    map[name] = value;
  }
}

export function stringKey(name: string, path: string): void {
  readString(name, path);
}

export function boolKey(name: string, path: string): void {
  if (name !== "true" && name !== "false") {
    throw new JsonFieldError(path, "key must be true or false");
  }
}

export function int32Key(name: string, path: string): void {
  refuseNonCanonical(name, path);
  readInt32(name, path);
}

export function uint32Key(name: string, path: string): void {
  refuseNonCanonical(name, path);
  readUint32(name, path);
}

export function int64Key(name: string, path: string): void {
  refuseNonCanonical(name, path);
  readInt64(name, path);
}

export function uint64Key(name: string, path: string): void {
  refuseNonCanonical(name, path);
  readUint64(name, path);
}

/** Two spellings of one number would be two entries of the JavaScript map and one of the protobuf map. */
function refuseNonCanonical(name: string, path: string): void {
  if (!/^(?:0|-?[1-9]\d{0,19})$/.test(name)) {
    throw new JsonFieldError(path, "key must be a whole number in decimal, without leading zeros");
  }
}

function refuseDepth(path: string, depth: number): void {
  if (depth <= 0) {
    throw new JsonFieldError(path, "nested too deeply");
  }
}
