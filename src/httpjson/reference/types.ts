import type { DescEnum, DescField, DescMessage } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import type { Annotations } from "../plugin/annotations.ts";
import { commentOf } from "../plugin/comments.ts";
import { link, table } from "./markdown.ts";
import { ruleWords } from "./rule-words.ts";

/** The page that has all messages and enums that are not the request or the response of one method. */
export const TYPES_PAGE = "types.md";

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

  /** A message's fields. */
  fields(message: DescMessage): string[] {
    if (message.fields.length === 0) return ["No fields.", ""];
    const withRules = message.fields.some((field) => this.#rules(field) !== "");
    const head = ["field", "type", ...(withRules ? ["rules"] : []), "meaning"];
    const rows = message.fields.map((field) => [
      `\`${field.name}\``,
      this.#type(field),
      ...(withRules ? [this.#rules(field)] : []),
      commentOf(field),
    ]);
    return table(head, rows);
  }

  /** A section of the page of types. */
  section(desc: DescMessage | DescEnum): string[] {
    const head = [`## ${desc.name}`, "", commentOf(desc), ""];
    if (desc.kind === "message") return [...head, ...this.#status(desc), ...this.fields(desc)];
    const rows = desc.values.map((value) => [
      `\`${value.name}\``,
      this.#annotations.jsonValue(value) === undefined ? "" : `\`${this.#annotations.jsonValue(value)}\``,
      String(value.number),
      commentOf(value),
    ]);
    return [...head, ...table(["value", "in JSON", "number", "meaning"], rows)];
  }

  #status(message: DescMessage): string[] {
    const status = this.#annotations.errorStatus(message);
    if (status === undefined) return [];
    return [status === 0 ? "Body of errors over HTTP." : `Body of the answer ${status} over HTTP.`, ""];
  }

  #rules(field: DescField): string {
    const words = [ruleWords(field, this.#annotations)];
    if (this.#annotations.nullWhenUnset(field)) words.push("null in JSON when unset");
    if (field.oneof !== undefined) words.push(`one of \`${field.oneof.name}\``);
    return words.filter((word) => word !== "").join("; ");
  }

  #type(field: DescField): string {
    const one = this.#valueType(field);
    switch (field.fieldKind) {
      case "list":
        return `list of ${one}`;
      case "map":
        return `map of string to ${one}`;
      default:
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
