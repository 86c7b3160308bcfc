import { fromSchema } from "@openapi-contrib/openapi-schema-to-json-schema";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/core/json.ts";
import { resolveReference, type OpenApiDocument } from "./document.ts";

/** Keywords with schemas, and keywords with named schemas (JSON Schema 2020-12, Core 10). */
const SCHEMAS: ReadonlySet<string> = new Set([
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
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
const NAMED_SCHEMAS: ReadonlySet<string> = new Set(["dependentSchemas", "patternProperties", "properties"]);

/** Irrelevant for callers, or anchors that could collide. */
const DROPPED =
  /^(?:\$anchor|\$comment|\$defs|\$dynamicAnchor|\$id|\$schema|\$vocabulary|discriminator|example|externalDocs|xml|x-.*)$/;

/**
 * Converts OpenAPI schemas to JSON Schema (2020-12). Referenced schemas become $defs, so schemas may be
 * recursive.
 */
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
    return this.#walk(this.#document.version === "3.0" ? fromOpenApi30(schema) : schema);
  }

  #walk(schema: JsonValue): JsonValue {
    if (!isJsonObject(schema)) return schema;
    const written: JsonObject = {};
    for (const [keyword, value] of Object.entries(schema)) {
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

/** OpenAPI 3.0 has its own dialect: `nullable`, boolean bounds, and references that ignore their siblings. */
function fromOpenApi30(schema: JsonObject): JsonObject {
  if (typeof schema["$ref"] === "string") return { $ref: schema["$ref"] };
  const converted: unknown = JSON.parse(JSON.stringify(fromSchema(schema, { removeReadOnly: true })));
  return isJsonObject(converted) ? withNumericBounds(converted) : {};
}

/** Converts `exclusiveMinimum: true` beside a minimum (draft 4) to the numeric form. */
function withNumericBounds(value: JsonObject): JsonObject {
  const written: JsonObject = {};
  for (const [keyword, one] of Object.entries(value)) {
    if (Array.isArray(one))
      written[keyword] = one.map((item) => (isJsonObject(item) ? withNumericBounds(item) : item));
    else written[keyword] = isJsonObject(one) ? withNumericBounds(one) : one;
  }
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const flag = written[exclusive];
    const limit = written[bound];
    if (typeof flag !== "boolean") continue;
    delete written[exclusive];
    if (!flag || typeof limit !== "number") continue;
    delete written[bound];
    written[exclusive] = limit;
  }
  return written;
}
