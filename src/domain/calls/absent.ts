import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";

/**
 * Returns params without the members that are null, may be left out and cannot be null by the schema: null is
 * absent, also for the fingerprint. Where a schema allows null, it means something to the tool.
 */
export function withoutNulls(params: JsonObject, schema: JsonObject): JsonObject {
  if (!hasNull(params)) return params;
  const present = pruned(params, [schema], schema);
  return isJsonObject(present) ? present : params;
}

/** Without a list of the members: every unpaid call is looked through. */
function hasNull(value: JsonValue | undefined): boolean {
  if (typeof value !== "object") return false;
  if (value === null) return true;
  if (Array.isArray(value)) return value.some(hasNull);
  for (const name in value) if (hasNull(value[name])) return true;
  return false;
}

function pruned(value: JsonValue, schemas: readonly JsonValue[], root: JsonObject): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  const seen = new Set<JsonValue>();
  const all = schemas.flatMap((schema) => parts(schema, root, seen));
  if (Array.isArray(value)) {
    const items = all.flatMap(({ items }) => items ?? []);
    return value.map((item) => pruned(item, items, root));
  }
  const required = new Set(all.flatMap(({ required }) => (Array.isArray(required) ? required : [])));
  const kept: [string, JsonValue][] = [];
  for (const [name, member] of Object.entries(value)) {
    const own = all.flatMap(({ properties }) => propertyOf(properties, name));
    const absent = member === null && own.length > 0 && !required.has(name);
    if (!absent || own.some((schema) => allowsNull(schema, root, new Set())))
      kept.push([name, pruned(member, own, root)]);
  }
  return Object.fromEntries(kept);
}

function propertyOf(properties: JsonValue | undefined, name: string): JsonValue[] {
  if (!isJsonObject(properties) || !Object.hasOwn(properties, name)) return [];
  return [properties[name] ?? true];
}

/** The schema, and those that it refers to or combines. @param seen each is followed once */
function parts(schema: JsonValue, root: JsonObject, seen: Set<JsonValue>): JsonObject[] {
  if (!isJsonObject(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, anyOf, oneOf, allOf } = schema;
  const others = [anyOf, oneOf, allOf].flatMap((list) => (Array.isArray(list) ? list : []));
  if (typeof $ref === "string") others.push(target(root, $ref) ?? true);
  return [schema, ...others.flatMap((other) => parts(other, root, seen))];
}

function allowsNull(schema: JsonValue, root: JsonObject, seen: Set<JsonValue>): boolean {
  if (!isJsonObject(schema) || seen.has(schema)) return schema !== false;
  seen.add(schema);
  const { type, enum: values, anyOf, oneOf, allOf, $ref } = schema;
  const allows = (one: JsonValue) => allowsNull(one, root, seen);
  if (type !== undefined && type !== "null" && !(Array.isArray(type) && type.includes("null"))) return false;
  if (Array.isArray(values) && !values.includes(null)) return false;
  if (Object.hasOwn(schema, "const") && schema["const"] !== null) return false;
  if ([anyOf, oneOf].some((list) => Array.isArray(list) && !list.some(allows))) return false;
  if (Array.isArray(allOf) && !allOf.every(allows)) return false;
  return typeof $ref !== "string" || allows(target(root, $ref) ?? true);
}

/** Returns what a reference within the schema names, such as `#/$defs/point`. */
export function target(root: JsonObject, reference: string): JsonValue | undefined {
  if (!reference.startsWith("#")) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    if (!isJsonObject(found)) return undefined;
    found = found[part.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found;
}

/** Members of a body of a model API whose members are the API's own. */
const OF_API: ReadonlySet<string> = new Set(["messages", "tools", "tool_choice", "response_format"]);
/** Members in those whose content is the caller's. */
const OF_CALLER: ReadonlySet<string> = new Set(["parameters", "schema", "arguments", "input"]);

/** Returns a body of a model API without members that are null, to identify it: there null is absent. */
export function bodyWithoutNulls(body: JsonObject): JsonObject {
  if (!hasNull(body)) return body;
  return withoutNullMembers(body, (name, value) => (OF_API.has(name) ? present(value) : value));
}

function present(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(present);
  if (!isJsonObject(value)) return value;
  return withoutNullMembers(value, (name, member) => (OF_CALLER.has(name) ? member : present(member)));
}

function withoutNullMembers(
  object: JsonObject,
  map: (name: string, value: JsonValue) => JsonValue,
): JsonObject {
  const kept = Object.entries(object).filter(([, value]) => value !== null);
  return Object.fromEntries(kept.map(([name, value]) => [name, map(name, value)]));
}
