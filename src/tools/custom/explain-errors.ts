import type { ErrorObject } from "ajv";
import { fieldPath, describeValue, describeType } from "../../domain/core/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

const MAX_ERRORS = 5;
const MAX_ALTERNATIVES = 3;

/** Explains ajv errors (`allErrors`, `verbose`), one sentence per field: `params.city: is required`. */
export function explainErrors(
  errors: readonly ErrorObject[],
  params: JsonObject,
  schema: JsonObject,
): string {
  const composites = errors
    .filter(isComposite)
    .map((composite) => ({ composite, isWithin: withinAlternatives(composite, schema) }));
  const isInner = (error: ErrorObject) => composites.some(({ isWithin }) => isWithin(error));
  const innerOf = (error: ErrorObject) => {
    const isWithin = composites.find(({ composite }) => composite === error)?.isWithin;
    return isWithin ? errors.filter(isWithin) : [];
  };
  const sentences = errors
    .filter((error) => !isInner(error))
    .map((error) =>
      isComposite(error)
        ? `${fieldPath(pathOf(error.instancePath, params))}: ${alternatives(error, innerOf(error), params)}`
        : sentence(error, params),
    );
  return [...new Set(sentences)].slice(0, MAX_ERRORS).join("; ");
}

function sentence(error: ErrorObject, params: JsonObject): string {
  const path = pathOf(error.instancePath, params);
  switch (error.keyword) {
    case "required":
      return `${fieldPath([...path, member(error, "missingProperty")])}: is required${typeOfMissing(error)}`;
    case "additionalProperties":
      return `${fieldPath([...path, member(error, "additionalProperty")])}: ${unknownMember(error)}`;
    case "unevaluatedProperties":
      return `${fieldPath([...path, member(error, "unevaluatedProperty")])}: is unknown, leave it out`;
    default:
      return `${fieldPath(path)}: ${problem(error)}`;
  }
}

function alternatives(composite: ErrorObject, inner: readonly ErrorObject[], params: JsonObject): string {
  if (Array.isArray(composite.params["passingSchemas"]))
    return "fits more than one of its alternatives, and must fit exactly one";
  const problems = inner
    .filter((error) => !isComposite(error))
    .slice(0, MAX_ALTERNATIVES)
    .map((error) =>
      error.instancePath === composite.instancePath && error.keyword === "type"
        ? problem(error)
        : sentence(error, params),
    );
  return `fits none of its alternatives: ${problems.join(", or ")}`;
}

function problem({
  keyword,
  params,
  message = "is not what the schema asks for",
  data,
}: ErrorObject): string {
  const limit = String(params["limit"]);
  switch (keyword) {
    case "type":
      return `must be ${typesOf(params["type"])}, not ${describeValue(data)}`;
    case "enum":
      return `must be one of ${listed(params["allowedValues"])}`;
    case "const":
      return `must be ${JSON.stringify(params["allowedValue"])}`;
    case "minLength":
      return `must have at least ${count(limit, "character")}`;
    case "maxLength":
      return `must have at most ${count(limit, "character")}`;
    case "minItems":
      return `must have at least ${count(limit, "item")}`;
    case "maxItems":
      return `must have at most ${count(limit, "item")}`;
    case "minProperties":
      return `must have at least ${count(limit, "member")}`;
    case "maxProperties":
      return `must have at most ${count(limit, "member")}`;
    case "minimum":
      return `must be at least ${limit}`;
    case "maximum":
      return `must be at most ${limit}`;
    case "exclusiveMinimum":
      return `must be more than ${limit}`;
    case "exclusiveMaximum":
      return `must be less than ${limit}`;
    case "multipleOf":
      return `must be a multiple of ${String(params["multipleOf"])}`;
    case "pattern":
      return `must match the pattern ${String(params["pattern"])}`;
    case "format":
      return `must have the format ${String(params["format"])}`;
    case "uniqueItems":
      return "must not have the same item twice";
    case "false schema":
      return "is not allowed, leave it out";
    default:
      return message;
  }
}

function unknownMember({ parentSchema }: ErrorObject): string {
  const properties: unknown = parentSchema?.["properties"];
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  return `is unknown, leave it out, there are ${names.length === 0 ? "no members" : names.join(", ")}`;
}

function typeOfMissing(error: ErrorObject): string {
  const properties: unknown = error.parentSchema?.["properties"];
  const missing = isJsonObject(properties) ? properties[member(error, "missingProperty")] : undefined;
  return isJsonObject(missing) && missing["type"] !== undefined ? `, ${typesOf(missing["type"])}` : "";
}

function typesOf(type: unknown): string {
  return [type].flat().map(String).map(describeType).join(" or ");
}

function listed(values: unknown): string {
  return Array.isArray(values)
    ? values.map((value) => JSON.stringify(value)).join(", ")
    : "the allowed values";
}

function count(limit: string, thing: string): string {
  return `${limit} ${thing}${limit === "1" ? "" : "s"}`;
}

function member(error: ErrorObject, name: string): string {
  return String(error.params[name]);
}

/** Converts a JSON Pointer (RFC 6901). Only the parameters show whether a step is an index. */
function pathOf(pointer: string, params: JsonObject): PropertyKey[] {
  let value: JsonValue | undefined = params;
  return pointer
    .split("/")
    .slice(1)
    .map((step) => {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(value)) {
        value = value[Number(name)];
        return Number(name);
      }
      value = isJsonObject(value) ? value[name] : undefined;
      return name;
    });
}

/** Whether the error comes from anyOf or oneOf as a whole. */
function isComposite({ keyword }: ErrorObject): boolean {
  return keyword === "anyOf" || keyword === "oneOf";
}

/** Returns a test for errors inside an alternative, which mean nothing alone. Compares schemas, not paths. */
function withinAlternatives(composite: ErrorObject, root: JsonObject): (error: ErrorObject) => boolean {
  const schemas = schemasIn(composite.schema, root);
  return (error) =>
    error !== composite &&
    error.parentSchema !== undefined &&
    error.instancePath.startsWith(composite.instancePath) &&
    schemas.has(error.parentSchema);
}

/** Collects all objects of a schema and of the schemas it references. */
function schemasIn(part: unknown, root: JsonObject): ReadonlySet<object> {
  const found = new Set<object>();
  const waiting: unknown[] = [part];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== "object" || one === null || found.has(one)) continue;
    found.add(one);
    const inner: unknown[] = Object.values(one);
    waiting.push(...inner);
    if (isJsonObject(one) && typeof one["$ref"] === "string") waiting.push(definition(one["$ref"], root));
  }
  return found;
}

/** Resolves a JSON Pointer (RFC 6901) within the schema. */
function definition(reference: string, root: JsonObject): unknown {
  if (!/^#(?:\/|$)/.test(reference)) return undefined;
  let part: unknown = root;
  for (const step of reference.split("/").slice(1)) {
    if (typeof part !== "object" || part === null) return undefined;
    const name = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    part = new Map<string, unknown>(Object.entries(part)).get(name);
  }
  return part;
}
