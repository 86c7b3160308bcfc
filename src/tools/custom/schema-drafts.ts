import { isJsonObject, setMember, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** Keywords with a schema or a list of schemas, and keywords with named schemas, of all drafts. */
export const SCHEMAS: ReadonlySet<string> = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);
export const NAMED_SCHEMAS: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/** Keywords that may be null; others are absent then. */
const NULLABLE = /^(?:const|default|example|x-)/;

/** Schema of draft 4, whose identifiers are in `id`. */
const DRAFT_4 = /draft-04\//;

/**
 * Returns a schema of any draft (3 to 2020-12, declared or not) as one of draft 2020-12. It is read by its
 * keywords: servers declare drafts that they do not follow. Unknown keywords stay.
 */
export function asDraft2020(schema: JsonObject): JsonObject {
  const declared = schema["$schema"];
  return converted(schema, typeof declared === "string" && DRAFT_4.test(declared));
}

function converted(schema: JsonObject, hasIds: boolean): JsonObject {
  const written: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema))
    if (value !== null || NULLABLE.test(keyword)) setMember(written, keyword, inner(keyword, value, hasIds));
  delete written["$schema"];
  delete written["$recursiveAnchor"];
  identify(written, hasIds);
  rewriteReferences(written);
  rewriteItems(written);
  rewriteDependencies(written);
  rewriteBound(written, "minimum", "exclusiveMinimum");
  rewriteBound(written, "maximum", "exclusiveMaximum");
  rewriteRequired(written, schema);
  rewriteType(written);
  const { pattern } = written;
  if (typeof pattern === "string" && !isEcmaScript(pattern)) delete written["pattern"];
  return written;
}

function inner(keyword: string, value: JsonValue, hasIds: boolean): JsonValue {
  const one = (part: JsonValue) => (isJsonObject(part) ? converted(part, hasIds) : part);
  if (SCHEMAS.has(keyword)) return Array.isArray(value) ? value.map(one) : one(value);
  if (!NAMED_SCHEMAS.has(keyword) || !isJsonObject(value)) return value;
  const schemas: JsonObject = {};
  for (const [name, part] of Object.entries(value)) setMember(schemas, name, one(part));
  return schemas;
}

/** Marks of Python, Go and PCRE that JavaScript reads as letters. */
const FOREIGN = /\\[AZzGK]|\[:\w+:\]/;

/** Servers in Python, Go and Rust write patterns of their own languages, which only they can check. */
function isEcmaScript(pattern: string): boolean {
  const compiles = (flags: string): boolean => {
    try {
      return new RegExp(pattern, flags) instanceof RegExp;
    } catch {
      return false;
    }
  };
  return compiles("u") || (compiles("") && !FOREIGN.test(pattern.replaceAll("\\\\", "")));
}

/** Draft 4: `id`. Drafts 4 to 7: `"$id": "#name"` is an anchor. */
function identify(schema: JsonObject, hasIds: boolean): void {
  const { id, $id = hasIds ? id : undefined } = schema;
  delete schema["id"];
  if (typeof $id !== "string") return;
  const isAnchor = /^#./.test($id);
  delete schema["$id"];
  schema[isAnchor ? "$anchor" : "$id"] = isAnchor ? $id.slice(1) : $id;
}

function rewriteReferences(schema: JsonObject): void {
  const { $recursiveRef } = schema;
  delete schema["$recursiveRef"];
  // A schema that refers to nothing outside is one resource: the innermost root is the outermost one.
  if (typeof $recursiveRef === "string") schema["$ref"] ??= $recursiveRef;
  const { $ref } = schema;
  if (typeof $ref === "string") schema["$ref"] = rewritten($ref);
}

/** Returns a reference to what a converted schema has at the place of a pointer (RFC 6901). */
function rewritten(reference: string): string {
  const [base = "", ...steps] = reference.split("/");
  if (!base.endsWith("#")) return reference;
  const path: string[] = [];
  for (let at = 0; at < steps.length; at++) {
    const [step = "", next = ""] = [steps[at], steps[at + 1]];
    const isListed = /^\d+$/.test(next);
    if (step === "items" && isListed) path.push("prefixItems");
    else path.push(RENAMED.get(step) ?? step);
    // What follows is a name or an index.
    if (NAMED_SCHEMAS.has(step) || (SCHEMAS.has(step) && isListed)) path.push(...steps.slice(++at, at + 1));
  }
  return [base, ...path].join("/");
}

const RENAMED: ReadonlyMap<string, string> = new Map([
  ["additionalItems", "items"],
  ["dependencies", "dependentSchemas"],
]);

/** Before 2020-12: `items` is a list, and `additionalItems` is for those behind. */
function rewriteItems(schema: JsonObject): void {
  const { items, additionalItems } = schema;
  delete schema["additionalItems"];
  if (!Array.isArray(items)) return;
  delete schema["items"];
  if (items.length > 0) schema["prefixItems"] = items;
  if (additionalItems !== undefined) schema["items"] = additionalItems;
}

/** Before 2019-09: `dependencies` has lists of names or schemas. */
function rewriteDependencies(schema: JsonObject): void {
  const { dependencies, dependentRequired, dependentSchemas } = schema;
  if (!isJsonObject(dependencies)) return;
  delete schema["dependencies"];
  const required: JsonObject = isJsonObject(dependentRequired) ? dependentRequired : {};
  const schemas: JsonObject = isJsonObject(dependentSchemas) ? dependentSchemas : {};
  for (const [name, one] of Object.entries(dependencies)) {
    if (typeof one === "string") setMember(required, name, [one]);
    else setMember(Array.isArray(one) ? required : schemas, name, one);
  }
  if (Object.keys(required).length > 0) schema["dependentRequired"] = required;
  if (Object.keys(schemas).length > 0) schema["dependentSchemas"] = schemas;
}

/** Drafts 3 and 4: `exclusiveMinimum: true` beside the bound. */
function rewriteBound(schema: JsonObject, bound: string, exclusive: string): void {
  const { [bound]: limit, [exclusive]: isExclusive } = schema;
  if (typeof isExclusive !== "boolean") return;
  delete schema[exclusive];
  if (!isExclusive || typeof limit !== "number") return;
  delete schema[bound];
  schema[exclusive] = limit;
}

/** Draft 3: `required: true` in the schema of the property. */
function rewriteRequired(written: JsonObject, { properties }: JsonObject): void {
  if (typeof written["required"] === "boolean") delete written["required"];
  if (!isJsonObject(properties)) return;
  const names = Object.entries(properties).flatMap(([name, one]) =>
    isJsonObject(one) && one["required"] === true ? [name] : [],
  );
  if (names.length === 0) return;
  const { required } = written;
  written["required"] = [...new Set([...(Array.isArray(required) ? required : []), ...names])];
}

/** Draft 3: `type: any`. OpenAPI 3.0: `nullable`, which has no meaning without a type. */
function rewriteType(schema: JsonObject): void {
  const { type, nullable, enum: values } = schema;
  if (type === "any") delete schema["type"];
  if (typeof nullable !== "boolean") return;
  delete schema["nullable"];
  if (!nullable || typeof type !== "string" || type === "any") return;
  schema["type"] = [type, "null"];
  if (Array.isArray(values) && !values.includes(null)) schema["enum"] = [...values, null];
}
