import type { DescField, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "../plugin/annotations.ts";
import { hasPresence } from "../plugin/names.ts";
import { listOf, numberOf, textOf } from "./json-option.ts";

/** A JSON Schema (2020-12), or some keywords of one. */
export type Schema = Record<string, JsonValue>;

/**
 * Maps the rules of buf.validate to JSON Schema. Omits rules that it cannot express: a schema may be laxer
 * than the service, never stricter.
 *
 * @param rules of the value: the field's, or those of a list's items or a map's values
 */
export function ruleKeywords(rules: JsonObject | undefined): Schema {
  const [kind, own] = Object.entries(rules ?? {}).find(([, value]) => isObject(value)) ?? [];
  if (kind === undefined || !isObject(own)) return {};
  switch (kind) {
    case "string":
      return defined({
        ...lengths(own, "Length"),
        pattern: textOf(own, "pattern") || undefined,
        ...choice(own),
      });
    case "repeated":
      return defined({ ...bounds(own, "Items"), uniqueItems: own["unique"] === true ? true : undefined });
    case "map":
      return bounds(own, "Pairs");
    case "bool":
    case "enum":
    case "bytes":
    case "timestamp":
    case "duration":
    case "fieldMask":
    case "any":
      return {};
    default:
      return defined({ ...limits(own), ...choice(numbers(own)) });
  }
}

export function itemRules(rules: JsonObject | undefined): JsonObject | undefined {
  const repeated = rules?.["repeated"];
  const items = isObject(repeated) ? repeated["items"] : undefined;
  return isObject(items) ? items : undefined;
}

/** Whether a request must have the field: by rule, or because its default value breaks one. */
export function isRequired(field: DescField, rules: JsonObject | undefined): boolean {
  if (rules?.["required"] === true) return true;
  if (hasPresence(field)) return false;
  const { minLength, minItems, minimum, exclusiveMinimum } = ruleKeywords(rules);
  return above(minLength, 0) || above(minItems, 0) || above(minimum, 0) || exclusiveMinimum === 0;
}

function above(value: JsonValue | undefined, limit: number): boolean {
  return typeof value === "number" && value > limit;
}

function lengths(own: JsonObject, word: string): Record<string, JsonValue | undefined> {
  const exact = numberOf(own, "len");
  return {
    [`min${word}`]: numberOf(own, "minLen") ?? exact,
    [`max${word}`]: numberOf(own, "maxLen") ?? exact,
  };
}

function bounds(own: JsonObject, word: "Items" | "Pairs"): Schema {
  const keyword = word === "Pairs" ? "Properties" : word;
  return defined({
    [`min${keyword}`]: numberOf(own, `min${word}`),
    [`max${keyword}`]: numberOf(own, `max${word}`),
  });
}

function limits(own: JsonObject): Record<string, JsonValue | undefined> {
  return {
    minimum: numberOf(own, "gte"),
    maximum: numberOf(own, "lte"),
    exclusiveMinimum: numberOf(own, "gt"),
    exclusiveMaximum: numberOf(own, "lt"),
  };
}

/** The values of numeric rules as numbers: ProtoJSON writes those of 64 bits as strings. */
function numbers(own: JsonObject): JsonObject {
  const number = (value: JsonValue): JsonValue => (Array.isArray(value) ? value.map(number) : Number(value));
  return Object.fromEntries(Object.entries(own).map(([name, value]) => [name, number(value)]));
}

function choice(own: JsonObject): Record<string, JsonValue | undefined> {
  const values = [...listOf(own, "in")];
  const excluded = [...listOf(own, "notIn")];
  return {
    const: own["const"],
    enum: values.length > 0 ? values : undefined,
    not: excluded.length > 0 ? { enum: excluded } : undefined,
  };
}

function defined(keywords: Record<string, JsonValue | undefined>): Schema {
  const schema: Schema = {};
  for (const [name, value] of Object.entries(keywords)) {
    if (value !== undefined) schema[name] = value;
  }
  return schema;
}
