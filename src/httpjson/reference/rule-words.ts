import type { DescField, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Annotations } from "../plugin/annotations.ts";
import { isRequired, itemRules, ruleKeywords, type Schema } from "../openapi/rules.ts";

/** The rules of a request's field in words; empty where there are none. */
export function ruleWords(field: DescField, annotations: Annotations): string {
  const rules = annotations.rules(field);
  const words = isRequired(field, rules) ? ["required"] : [];
  words.push(...keywordWords(ruleKeywords(rules)));
  const items = keywordWords(ruleKeywords(itemRules(rules)));
  if (items.length > 0) words.push(`each: ${items.join(", ")}`);
  words.push(...other(rules));
  return words.join("; ");
}

function keywordWords(keywords: Schema): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, pattern, uniqueItems, not } = keywords;
  const words = [
    range(keywords["minLength"], keywords["maxLength"], "characters"),
    range(keywords["minItems"], keywords["maxItems"], "items"),
    range(minimum, maximum, ""),
    exclusiveMinimum === undefined ? "" : `above ${text(exclusiveMinimum)}`,
    exclusiveMaximum === undefined ? "" : `below ${text(exclusiveMaximum)}`,
    pattern === undefined ? "" : `\`${text(pattern)}\``,
    uniqueItems === true ? "no two alike" : "",
    keywords["const"] === undefined ? "" : `always \`${text(keywords["const"])}\``,
    keywords["enum"] === undefined ? "" : `one of ${text(keywords["enum"])}`,
    not === undefined ? "" : `not ${text(isEnum(not) ? not.enum : not)}`,
  ];
  return words.filter((word) => word !== "");
}

function isEnum(not: JsonValue): not is { enum: JsonValue } {
  return typeof not === "object" && not !== null && "enum" in not;
}

function range(least: JsonValue | undefined, most: JsonValue | undefined, unit: string): string {
  const limits =
    least === undefined
      ? most === undefined
        ? ""
        : `at most ${text(most)}`
      : most === undefined
        ? `at least ${text(least)}`
        : `${text(least)} to ${text(most)}`;
  return limits === "" || unit === "" ? limits : `${limits} ${unit}`;
}

function text(value: JsonValue): string {
  if (Array.isArray(value)) return value.map(text).join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Rules for which JSON Schema has no word. */
function other(rules: JsonObject | undefined): string[] {
  const bool = rules?.["bool"];
  return typeof bool === "object" && bool !== null && "const" in bool
    ? [`always \`${JSON.stringify(bool["const"])}\``]
    : [];
}
