import {
  type DescEnum,
  type DescField,
  type DescMessage,
  ScalarType,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import type { Annotations } from "../plugin/annotations.ts";
import { commentOf } from "../plugin/comments.ts";
import { defined, link, list } from "./markdown.ts";
import { isRequired, itemRules, ruleKeywords, type Schema } from "../openapi/rules.ts";

/** The page that has all messages and enums that are not the request or the response of one method. */
export const TYPES_PAGE = "types.md";

const PAGE_FIELDS: ReadonlySet<string> = new Set(["limit", "cursor", "next_cursor"]);

/** Empty for a message that belongs to no list of pages. */
function pageFieldsOf({ fields }: DescMessage): DescField[] {
  const found = fields.filter(({ name }) => PAGE_FIELDS.has(name));
  return found.some(({ name }) => name !== "limit") ? found : [];
}

/** The sections of messages and enums. */
export class Types {
  readonly #annotations: Annotations;
  /** Messages that are described where their method is. */
  readonly #own: ReadonlySet<DescMessage>;
  readonly #package: string;

  constructor(annotations: Annotations, own: ReadonlySet<DescMessage>, packageName: string) {
    this.#annotations = annotations;
    this.#own = own;
    this.#package = packageName;
  }

  /** Those of pages are described once: {@link pageFields}. */
  fields(message: DescMessage): string[] {
    const ofPage = pageFieldsOf(message);
    const items = message.fields.filter((field) => !ofPage.includes(field)).map((field) => this.#item(field));
    if (ofPage.length === 0) return list(items);
    const names = ofPage.map(({ name }) => `\`${name}\``).join(", ");
    return list([...items, defined(names, link("pages", "README.md", "pages"))]);
  }

  /** The fields by which lists are read in pages, as the first messages have them. */
  pageFields(messages: readonly DescMessage[]): string[] {
    const all = messages.flatMap(pageFieldsOf);
    const first = new Map(all.toReversed().map((field) => [field.name, field]));
    return list([...first.values()].toReversed().map((field) => this.#item(field)));
  }

  #item(field: DescField): string {
    const rules = this.#rules(field);
    const term = `\`${field.name}\` ${this.#type(field)}${rules === "" ? "" : `; ${rules}`}`;
    const isTime = field.message?.typeName === "google.protobuf.Timestamp";
    const comment = isTime ? commentOf(field).replace(/,? UTC\b/, "") : commentOf(field);
    return defined(term, comment === `The ${field.name}.` ? "" : comment);
  }

  /** A section of the page of types. */
  section(desc: DescMessage | DescEnum): string[] {
    const head = [`## ${desc.name}`, "", commentOf(desc), ""];
    if (desc.kind === "message") return [...head, ...this.#status(desc), ...this.fields(desc)];
    const sent = desc.values.filter((value) => commentOf(value) !== "Never sent.");
    const items = sent.map((value) => {
      const json = this.#annotations.jsonValue(value);
      const term = `${value.number} \`${value.name}\`${json === undefined ? "" : ` (\`${json}\`)`}`;
      return defined(term, commentOf(value));
    });
    return [...head, ...list(items)];
  }

  #status(message: DescMessage): string[] {
    const status = this.#annotations.errorStatus(message);
    if (status === undefined) return [];
    return [status === 0 ? "Body of errors over HTTP." : `Body of the answer ${status} over HTTP.`, ""];
  }

  #rules(field: DescField): string {
    const words = [ruleWords(field, this.#annotations)];
    if (field.oneof !== undefined) words.push(`one of \`${field.oneof.name}\``);
    return words.filter((word) => word !== "").join("; ");
  }

  #type(field: DescField): string {
    const one = this.#valueType(field);
    switch (field.fieldKind) {
      case "list":
        return `${one}[]`;
      case "map":
        return `map of string to ${one}`;
      default:
        if (this.#annotations.nullWhenUnset(field)) return `${one} or null`;
        return field.proto.proto3Optional ? `${one}, optional` : one;
    }
  }

  #valueType(field: DescField): string {
    const type = field.message ?? field.enum;
    if (type === undefined) return ScalarType[field.scalar ?? ScalarType.STRING].toLowerCase();
    if (type.file.proto.package !== this.#package) return type.name;
    const described = type.kind === "message" && this.#own.has(type);
    return described ? type.name : link(type.name, TYPES_PAGE, type.name);
  }
}

/** The rules of a request's field in words; empty where there are none. */
function ruleWords(field: DescField, annotations: Annotations): string {
  const rules = annotations.rules(field);
  const required = isRequired(field, rules);
  const keywords = ruleKeywords(rules);
  const { minLength, ...others } = keywords;
  // A required text is not empty.
  const isUsual = required && minLength === 1 && keywords["maxLength"] === undefined;
  const words = required ? ["required"] : [];
  words.push(...keywordWords(isUsual ? others : keywords));
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
    range(unlessWidest(minimum), unlessWidest(maximum), ""),
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

/** Beyond these a number in JSON is not exact: no limit of the field's own. */
function unlessWidest(limit: JsonValue | undefined): JsonValue | undefined {
  return limit === Number.MAX_SAFE_INTEGER || limit === Number.MIN_SAFE_INTEGER ? undefined : limit;
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
