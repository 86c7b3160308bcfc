import { fromSchema } from "@openapi-contrib/openapi-schema-to-json-schema";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../domain/json.ts";
import { resolveReference, type OpenApiDocument } from "./document.ts";

/** Keywords whose value is a schema or a list of schemas, and those whose value names schemas (JSON Schema 2020-12, Core 10). */
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

/** What says nothing to whoever fills in the parameters, or would give a part of the schema a name of its own. */
const DROPPED =
  /^(?:\$anchor|\$comment|\$defs|\$dynamicAnchor|\$id|\$schema|\$vocabulary|discriminator|example|externalDocs|xml|x-.*)$/;

/**
 * Makes JSON Schemas (2020-12) of the schemas of an OpenAPI document. What they refer to is gathered, once each, so that a schema can be as
 * deep or as circular as it likes.
 */
export class SchemaWriter {
  readonly #document: OpenApiDocument;
  readonly #names = new Map<string, string>();
  readonly #definitions: JsonObject = {};

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  /** What the schemas written so far refer to, as `$defs`. */
  get definitions(): JsonObject {
    return this.#definitions;
  }

  /** @throws Error with a sentence for the operator */
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
    // Its place is taken before it is written: it may refer to itself.
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

/** OpenAPI 3.0 has a dialect of its own: `nullable`, boolean bounds, and references whose neighbours do not count. */
function fromOpenApi30(schema: JsonObject): JsonObject {
  if (typeof schema["$ref"] === "string") return { $ref: schema["$ref"] };
  const converted: unknown = JSON.parse(JSON.stringify(fromSchema(schema, { removeReadOnly: true })));
  return isJsonObject(converted) ? withNumericBounds(converted) : {};
}

/** `exclusiveMinimum: true` beside a minimum (draft 4) as the bound itself, wherever it stands. */
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
