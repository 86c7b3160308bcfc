import { isJsonObject, type JsonObject } from "./json.ts";

/** Of objects that are written more than once, as a result is that is stored, told, and told again. */
const texts = new WeakMap<object, string>();

/** How deep in what is written such an object is looked for: a result in its answer, which MCP puts into a JSON-RPC message. */
const DEPTH = 2;

/** Members of what such an object is looked for in, at most: answers have few, and a wide result that is not known is no answer. */
const WIDEST = 16;

/** The JSON of an object, which may be known. */
export function jsonOf(object: JsonObject): string {
  return texts.get(object) ?? JSON.stringify(object);
}

/** The JSON of an object, made once: the object must not be changed afterwards. To keep it costs as much as to write a short one again. */
export function cacheJson(object: JsonObject): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** The object that this is the JSON of, which it is written as again; undefined of any other JSON. */
export function parseCachedJson(text: string): JsonObject | undefined {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) return undefined;
  texts.set(value, text);
  return value;
}

/** What JSON.stringify makes of plain data; of objects in it whose JSON is known, that is taken. */
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
    // JSON has no such value: a member that is undefined is left out, as JSON.stringify does.
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
