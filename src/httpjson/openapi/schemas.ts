import type { DescEnum, DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import type { Annotations } from "../plugin/annotations.ts";
import { commentOf } from "../plugin/comments.ts";
import { queryWords } from "../plugin/emit-enum.ts";
import { GenerationError } from "../plugin/generation-error.ts";
import { hasPresence, writtenName } from "../plugin/names.ts";
import type { PluginOptions } from "../plugin/options.ts";
import { isRequired, itemRules, ruleKeywords, type Schema } from "./rules.ts";

const LARGEST = Number.MAX_SAFE_INTEGER;

/** The schemas of messages and enums, each made when it is first referred to. */
export class Schemas {
  readonly #annotations: Annotations;
  readonly #options: PluginOptions;
  /** Messages of requests: unknown members are refused, and rules make members required. */
  readonly #read: ReadonlySet<DescMessage | DescEnum>;
  readonly #owners = new Map<string, DescMessage | DescEnum>();
  readonly #made = new Map<string, Schema>();

  constructor(annotations: Annotations, options: PluginOptions, read: ReadonlySet<DescMessage | DescEnum>) {
    this.#annotations = annotations;
    this.#options = options;
    this.#read = read;
  }

  all(): Record<string, Schema> {
    return Object.fromEntries([...this.#made].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  ref(desc: DescMessage | DescEnum): Schema {
    const name = this.#name(desc);
    if (!this.#made.has(name)) {
      // Known before it is made: messages may contain themselves.
      this.#made.set(name, {});
      this.#made.set(name, desc.kind === "enum" ? this.#enum(desc) : this.object(desc, new Set()));
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** The schema of a message's object, less the fields that are sent in another place. */
  object(desc: DescMessage, elsewhere: ReadonlySet<DescField>): Schema {
    const fields = desc.fields.filter((field) => !elsewhere.has(field));
    const required = fields.filter((field) => this.#mustBeThere(desc, field));
    const properties = new Map(
      fields.map((field) => [writtenName(field, this.#options), this.property(field)]),
    );
    return {
      type: "object",
      description: commentOf(desc),
      ...(fields.length > 0 && { properties: Object.fromEntries(properties) }),
      ...(required.length > 0 && { required: required.map((field) => writtenName(field, this.#options)) }),
      ...(this.#read.has(desc) && { additionalProperties: false }),
    };
  }

  property(field: DescField): Schema {
    const value = this.field(field);
    const schema = this.#annotations.nullWhenUnset(field) ? orNull(value) : value;
    const description = commentOf(field);
    return { ...schema, ...(description !== "" && { description }) };
  }

  field(field: DescField): Schema {
    const rules = this.#annotations.rules(field);
    switch (field.fieldKind) {
      case "list":
        return { type: "array", items: this.#one(field, itemRules(rules)), ...ruleKeywords(rules) };
      case "map":
        return { type: "object", additionalProperties: this.#one(field, undefined), ...ruleKeywords(rules) };
      default:
        return this.#one(field, rules);
    }
  }

  #one(field: DescField, rules: JsonObject | undefined): Schema {
    if (field.message !== undefined) return this.message(field.message);
    if (field.enum !== undefined) return this.ref(field.enum);
    const schema = this.#scalar(field.scalar);
    // JSON Schema cannot limit 64-bit integers that are strings.
    return schema["type"] === "string" && isLong(field.scalar)
      ? schema
      : { ...schema, ...ruleKeywords(rules) };
  }

  /** The schema of a message: a reference, or inline if its JSON is no object of its fields. */
  message(desc: DescMessage): Schema {
    if (isWrapperDesc(desc)) return this.#scalar(desc.fields[0].scalar);
    switch (desc.typeName) {
      case "google.protobuf.Timestamp":
        return { type: "string", format: "date-time" };
      case "google.protobuf.Duration":
        return { type: "string", pattern: "^-?\\d+(\\.\\d{1,9})?s$" };
      case "google.protobuf.FieldMask":
        return { type: "string" };
      case "google.protobuf.Struct":
        return { type: "object", additionalProperties: true };
      case "google.protobuf.Empty":
        return { type: "object" };
      case "google.protobuf.Value":
        return {};
      case "google.protobuf.ListValue":
        return { type: "array", items: {} };
      default:
        return this.ref(desc);
    }
  }

  #scalar(scalar: ScalarType): Schema {
    switch (scalar) {
      case ScalarType.STRING:
        return { type: "string" };
      case ScalarType.BOOL:
        return { type: "boolean" };
      case ScalarType.BYTES:
        return { type: "string", contentEncoding: "base64" };
      case ScalarType.DOUBLE:
      case ScalarType.FLOAT:
        return { type: "number" };
      case ScalarType.INT32:
      case ScalarType.SINT32:
      case ScalarType.SFIXED32:
        return { type: "integer", format: "int32" };
      case ScalarType.UINT32:
      case ScalarType.FIXED32:
        return { type: "integer", minimum: 0, maximum: 2 ** 32 - 1 };
      case ScalarType.UINT64:
      case ScalarType.FIXED64:
        return this.#long(0);
      default:
        return this.#long(-LARGEST);
    }
  }

  #long(minimum: number): Schema {
    return this.#options.int64 === "number"
      ? { type: "integer", format: "int64", minimum, maximum: LARGEST }
      : { type: "string", pattern: minimum < 0 ? "^-?\\d+$" : "^\\d+$" };
  }

  #enum(desc: DescEnum): Schema {
    if (desc.typeName === "google.protobuf.NullValue") return { type: "null" };
    const unspecified = desc.values.find(({ number, name }) => number === 0 && name.endsWith("_UNSPECIFIED"));
    const values = desc.values.filter((value) => value !== unspecified);
    const words = queryWords(desc, this.#annotations) ?? values.map(({ name }) => name);
    const lines = values.map((value, index) => `- \`${words[index]}\`: ${commentOf(value)}`);
    return { type: "string", description: `${commentOf(desc)}\n\n${lines.join("\n")}`, enum: [...words] };
  }

  #mustBeThere(desc: DescMessage, field: DescField): boolean {
    if (this.#read.has(desc)) return isRequired(field, this.#annotations.rules(field));
    if (this.#annotations.alwaysSet(field) || this.#annotations.nullWhenUnset(field)) return true;
    return this.#options.emitDefault && !hasPresence(field);
  }

  /** Names within the package: a document has one, and readers of it do not care which. */
  #name(desc: DescMessage | DescEnum): string {
    const prefix = desc.file.proto.package;
    const name = prefix === "" ? desc.typeName : desc.typeName.slice(prefix.length + 1);
    const owner = this.#owners.get(name) ?? desc;
    if (owner !== desc) {
      throw new GenerationError(
        desc,
        `has the same name in the document as ${owner.typeName}; rename one of them`,
      );
    }
    this.#owners.set(name, desc);
    return name;
  }
}

function isLong(scalar: ScalarType | undefined): boolean {
  switch (scalar) {
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return true;
    default:
      return false;
  }
}

function orNull(schema: Schema): Schema {
  const { type } = schema;
  return typeof type === "string"
    ? { ...schema, type: [type, "null"] }
    : { anyOf: [schema, { type: "null" }] };
}
