import { isJsonObject, type JsonObject, type JsonValue } from "../domain/core/json.ts";

/** Levels of a member that is handed on; every transport can carry them. */
const MAX_LEVELS = 20;

/** Items of a list, from its end, in which one with the same index is looked for. */
const MAX_LOOKED_AT = 64;

/** Members that are sent again with each part of an object. */
const REPEATED = new Set(["id", "type", "role", "name", "format", "index"]);

/** Returns the members of an object that are not among the known ones. Null says nothing. */
export function otherMembers(object: JsonObject, known: ReadonlySet<string>): JsonObject {
  const others = Object.entries(object).filter(([name, value]) => value !== null && !known.has(name));
  return Object.fromEntries(others.map(([name, value]) => [name.toWellFormed(), cleaned(value, MAX_LEVELS)]));
}

/** Whether members have anything that a delta would add. */
export function hasContent(members: JsonObject): boolean {
  return Object.values(members).some((value) =>
    typeof value === "object" && value !== null ? Object.keys(value).length > 0 : value !== "",
  );
}

/** Adds the members of a delta to those that earlier ones had: texts and lists grow, objects by member. */
export function addMembers(to: JsonObject, delta: JsonObject): void {
  for (const [name, value] of Object.entries(delta))
    define(to, name, grown(Object.hasOwn(to, name) ? to[name] : undefined, value, name));
}

function grown(before: JsonValue | undefined, part: JsonValue, name: string): JsonValue {
  if (typeof before === "string" && typeof part === "string")
    return part === before || REPEATED.has(name) ? part : before + part;
  if (Array.isArray(before) && Array.isArray(part)) {
    for (const item of part) addItem(before, item);
    return before;
  }
  if (isJsonObject(before) && isJsonObject(part)) {
    addMembers(before, part);
    return before;
  }
  // Deltas are sent while the copy grows.
  return structuredClone(part);
}

/** Parts of one item have its index. */
function addItem(list: JsonValue[], item: JsonValue): void {
  const index = indexOf(item);
  const same = index === undefined ? -1 : list.findLastIndex((one) => indexOf(one) === index);
  const earlier = same < list.length - MAX_LOOKED_AT ? undefined : list[same];
  if (isJsonObject(earlier) && isJsonObject(item)) addMembers(earlier, item);
  else list.push(structuredClone(item));
}

function indexOf(item: JsonValue | undefined): number | undefined {
  const index = isJsonObject(item) ? item["index"] : undefined;
  return typeof index === "number" ? index : undefined;
}

/** Text without halves of characters; null for what nests too deeply, and for numbers out of range. */
function cleaned(value: JsonValue, levels: number): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return null;
  if (Array.isArray(value)) return value.map((item) => cleaned(item, levels - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name.toWellFormed(), cleaned(member, levels - 1)]),
  );
}

/** Defines members of any name, including __proto__. */
function define(object: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}

/** Members beside those that are known, of which the last value counts, such as `citations`. */
export class LatestMembers {
  readonly all: JsonObject = {};
  #fresh: JsonObject = {};
  readonly #texts = new Map<string, string>();

  /** @returns by how many characters they grew, as JSON */
  take(members: JsonObject): number {
    let added = 0;
    for (const [name, value] of Object.entries(members)) {
      const text = JSON.stringify(value);
      const before = this.#texts.get(name);
      if (text === before) continue;
      this.#texts.set(name, text);
      define(this.all, name, value);
      define(this.#fresh, name, value);
      added += text.length - (before?.length ?? 0);
    }
    return added;
  }

  /** Returns those that changed since the last call. */
  takeFresh(): JsonObject {
    const fresh = this.#fresh;
    this.#fresh = {};
    return fresh;
  }
}
