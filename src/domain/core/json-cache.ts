import { isJsonObject, type JsonObject } from "./json.ts";

/** Caches the JSON of results that are serialised more than once. */
const texts = new WeakMap<object, string>();

/** Depth at which cached objects are found: a result within a response within a JSON-RPC message. */
const DEPTH = 2;

/** Maximum members to search: responses have few. */
const WIDEST = 16;

/** Returns the JSON of an object, cached or new. */
export function jsonOf(object: JsonObject): string {
  return texts.get(object) ?? JSON.stringify(object);
}

/** Returns the JSON of an object and caches it. The object must not change afterwards. */
export function cacheJson(object: JsonObject): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** Parses a JSON object and caches its text; undefined for other JSON. */
export function parseCachedJson(text: string): JsonObject | undefined {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) return undefined;
  texts.set(value, text);
  return value;
}

/** JSON.stringify for plain data that reuses cached texts. */
export function writeJson(value: unknown): string {
  return holdsKnown(value, DEPTH) ? write(value, DEPTH) : JSON.stringify(value);
}

function holdsKnown(value: unknown, depth: number): value is JsonObject {
  if (!isJsonObject(value)) return false;
  if (texts.has(value)) return true;
  if (depth === 0) return false;
  let members = 0;
  for (const name in value) {
    if (++members > WIDEST) return false;
    if (holdsKnown(value[name], depth - 1)) return true;
  }
  return false;
}

function write(value: JsonObject, depth: number): string {
  const known = texts.get(value);
  if (known !== undefined) return known;
  const members: string[] = [];
  for (const [name, member] of Object.entries<unknown>(value)) {
    const text = holdsKnown(member, depth - 1) ? write(member, depth - 1) : JSON.stringify(member);
    // Like JSON.stringify, omits undefined members.
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
