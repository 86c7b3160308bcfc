import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import { NAMED_SCHEMAS, SCHEMAS } from "../schema-drafts.ts";
import { resolveReference, type OpenApiDocument } from "./document.ts";

/** Irrelevant for callers, or anchors that could collide. */
const DROPPED =
  /^(?:\$anchor|\$comment|\$defs|\$dynamicAnchor|\$id|\$schema|\$vocabulary|discriminator|example|externalDocs|xml|x-.*)$/;

/** Converts OpenAPI schemas to JSON Schema (2020-12). References become $defs: schemas may recurse. */
export class SchemaWriter {
  readonly #document: OpenApiDocument;
  readonly #names = new Map<string, string>();
  readonly #definitions: JsonObject = {};

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** Schemas referenced so far, for `$defs`. */
  get definitions(): JsonObject {
    return this.#definitions;
  }

  /** @throws Error with a message for the operator */
  write(schema: JsonValue | undefined): JsonValue {
    if (!isJsonObject(schema)) return schema === false ? false : {};
    // A reference ignores its siblings in OpenAPI 3.0.
    const { $ref } = schema;
    return this.#walk(this.#document.version === "3.0" && typeof $ref === "string" ? { $ref } : schema);
  }

  #walk(schema: JsonValue): JsonValue {
    if (!isJsonObject(schema)) return schema;
    const current = this.#document.version === "3.0" ? fromOpenApi30(schema) : schema;
    const written: JsonObject = {};
    for (const [keyword, value] of Object.entries(current)) {
      if (DROPPED.test(keyword)) continue;
      if (keyword === "$dynamicRef") throw new Error("a schema with $dynamicRef is not supported");
      if (keyword === "$ref" && typeof value === "string") written["$ref"] = this.#refer(value);
      else if (SCHEMAS.has(keyword))
        written[keyword] = Array.isArray(value) ? value.map((one) => this.#walk(one)) : this.#walk(value);
      else if (NAMED_SCHEMAS.has(keyword) && isJsonObject(value))
        written[keyword] = Object.fromEntries(
          Object.entries(value).map(([name, one]) => [name, this.#walk(one)]),
        );
      else written[keyword] = value;
    }
    return written;
  }

  #refer(reference: string): string {
    const known = this.#names.get(reference);
    if (known !== undefined) return `#/$defs/${known}`;
    const name = this.#freeName(reference);
    this.#names.set(reference, name);
    // Reserve the name first: the schema may reference itself.
    this.#definitions[name] = {};
    this.#definitions[name] = this.write(resolveReference(this.#document.root, reference));
    return `#/$defs/${name}`;
  }

  #freeName(reference: string): string {
    const wanted = (reference.split("/").at(-1) ?? "").replaceAll(/[^\w.-]/g, "_") || "schema";
    const taken = new Set(this.#names.values());
    let name = wanted;
    for (let number = 2; taken.has(name); number++) name = `${wanted}_${number}`;
    return name;
  }
}

/** Keywords of OpenAPI 3.0 only, and annotations that were never shown of it. */
const DROPPED_30: ReadonlySet<string> = new Set(["deprecated", "nullable", "readOnly", "writeOnly"]);

/** Least and greatest number of a format (OpenAPI 3.0, 4.4). */
const BOUNDS: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63 - 1],
  float: [-(2 ** 128), 2 ** 128 - 1],
  double: [-Number.MAX_VALUE, Number.MAX_VALUE],
};

/** Converts a schema, without those inside, from OpenAPI 3.0's dialect (4.7.24). */
function fromOpenApi30(schema: JsonObject): JsonObject {
  const written = Object.fromEntries(Object.entries(schema).filter(([keyword]) => !DROPPED_30.has(keyword)));
  const { properties, required, type, enum: values, format } = written;
  if (isJsonObject(properties)) {
    const kept = Object.entries(properties).filter(
      ([, one]) => !(isJsonObject(one) && one["readOnly"] === true),
    );
    written["properties"] = Object.fromEntries(kept);
    if (Array.isArray(required))
      written["required"] = required.filter((name) => kept.some(([one]) => one === name));
  }
  if (schema["nullable"] === true && type !== undefined) {
    written["type"] = [type, "null"];
    if (Array.isArray(values) && !values.includes(null)) written["enum"] = [...values, null];
  }
  if (format === "byte") written["pattern"] = "^[\\w\\d+\\/=]*$";
  const [least, greatest] = (typeof format === "string" && BOUNDS[format]) || [];
  setBound(written, "minimum", "exclusiveMinimum", least, Math.max);
  setBound(written, "maximum", "exclusiveMaximum", greatest, Math.min);
  return written;
}

/** Narrows a bound to that of the format; converts `exclusiveMinimum: true` beside it to the numeric form. */
function setBound(
  schema: JsonObject,
  bound: string,
  exclusive: string,
  ofFormat: number | undefined,
  narrower: (one: number, other: number) => number,
): void {
  const { [bound]: limit = ofFormat, [exclusive]: isExclusive } = schema;
  if (typeof isExclusive === "boolean") delete schema[exclusive];
  if (typeof limit !== "number") return;
  delete schema[bound];
  schema[isExclusive === true ? exclusive : bound] = narrower(limit, ofFormat ?? limit);
}
