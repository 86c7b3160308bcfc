import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";

/** Bounds that break callers when they become smaller, and when they become larger. */
const UPPER = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
const LOWER = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];

/** Members whose change cannot be judged: another value may refuse what was accepted. */
const OPAQUE = ["pattern", "format", "const", "$ref", "oneOf", "anyOf", "allOf", "not", "multipleOf"];

/**
 * Returns why parameters that a schema accepts may be refused by another (JSON Schema 2020-12), with the path
 * of the parameter. Constructs that it cannot compare count as breaking when they differ.
 */
export function breakingChanges(before: JsonObject, after: JsonObject, path = "params"): string[] {
  return [
    ...requiredChanges(before, after, path),
    ...typeChanges(before, after, path),
    ...boundChanges(before, after, path),
    ...OPAQUE.filter((name) => after[name] !== undefined && differ(before[name], after[name])).map(
      (name) => `${path}: has another ${name}`,
    ),
    ...propertyChanges(before, after, path),
    ...itemChanges(before, after, path),
  ];
}

function requiredChanges(before: JsonObject, after: JsonObject, path: string): string[] {
  const known = new Set(strings(before["required"]));
  return strings(after["required"])
    .filter((name) => !known.has(name))
    .map((name) => `${path}.${name} becomes required`);
}

function typeChanges(before: JsonObject, after: JsonObject, path: string): string[] {
  const problems: string[] = [];
  const types = strings(after["type"]);
  const accepted = (type: string) => types.includes(type) || (type === "integer" && types.includes("number"));
  if (types.length > 0 && (before["type"] === undefined || !strings(before["type"]).every(accepted)))
    problems.push(
      `${path} must be ${types.join(" or ")}, was ${strings(before["type"]).join(" or ") || "any"}`,
    );
  const values = after["enum"];
  if (!Array.isArray(values)) return problems;
  const allowed = new Set(values.map((value) => JSON.stringify(value)));
  const old = before["enum"];
  if (!Array.isArray(old)) return [...problems, `${path} must be one of ${JSON.stringify(values)}`];
  const gone = old.map((value) => JSON.stringify(value)).filter((value) => !allowed.has(value));
  return gone.length === 0 ? problems : [...problems, `${path} no longer accepts ${gone.join(", ")}`];
}

function boundChanges(before: JsonObject, after: JsonObject, path: string): string[] {
  const tighter = (names: readonly string[], sign: number) =>
    names.filter((name) => {
      const [old, now] = [before[name], after[name]];
      return typeof now === "number" && (typeof old !== "number" || sign * now < sign * old);
    });
  return [...tighter(UPPER, 1), ...tighter(LOWER, -1)].map(
    (name) =>
      `${path}: ${name} becomes ${JSON.stringify(after[name])}, ` +
      `was ${JSON.stringify(before[name]) ?? "unlimited"}`,
  );
}

function propertyChanges(before: JsonObject, after: JsonObject, path: string): string[] {
  const [old, now] = [objectOf(before["properties"]), objectOf(after["properties"])];
  return Object.entries(old).flatMap(([name, schema]) => {
    const next = Object.hasOwn(now, name) ? now[name] : undefined;
    if (next === undefined)
      return after["additionalProperties"] === false ? [`${path}.${name} is no longer accepted`] : [];
    return isJsonObject(schema) && isJsonObject(next) ? breakingChanges(schema, next, `${path}.${name}`) : [];
  });
}

function itemChanges(before: JsonObject, after: JsonObject, path: string): string[] {
  const { items: old = {} } = before;
  const { items: now } = after;
  return isJsonObject(old) && isJsonObject(now) ? breakingChanges(old, now, `${path}[]`) : [];
}

function differ(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function strings(value: JsonValue | undefined): string[] {
  const all = Array.isArray(value) ? value : [value];
  return all.filter((one) => typeof one === "string");
}
