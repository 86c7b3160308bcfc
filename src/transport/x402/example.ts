import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

/** Nested deeper, a schema refers to itself. */
const MAX_DEPTH = 8;

/** Returns small parameters of a tool: the schema's own example, or else its required members. */
export function exampleOf(schema: JsonObject): JsonObject {
  const value = valueOf(schema, schema, 0);
  return isJsonObject(value) ? value : {};
}

function valueOf(schema: JsonValue | undefined, root: JsonObject, depth: number): JsonValue {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return {};
  const { examples, enum: allowed, anyOf, oneOf, allOf, $ref } = schema;
  if (Array.isArray(examples) && examples[0] !== undefined) return examples[0];
  if (schema["default"] !== undefined) return schema["default"];
  if (schema["const"] !== undefined) return schema["const"];
  if (Array.isArray(allowed) && allowed[0] !== undefined) return allowed[0];
  if (typeof $ref === "string") return valueOf(target(root, $ref), root, depth + 1);
  for (const choices of [anyOf, oneOf, allOf])
    if (Array.isArray(choices) && choices.length > 0) return valueOf(choices[0], root, depth + 1);
  return ofType(schema, root, depth);
}

function ofType(schema: JsonObject, root: JsonObject, depth: number): JsonValue {
  const { type, minimum, minLength, minItems, items } = schema;
  switch (Array.isArray(type) ? type[0] : type) {
    case "string":
      return "text".padEnd(typeof minLength === "number" ? minLength : 0, "-");
    case "integer":
    case "number":
      return typeof minimum === "number" ? minimum : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    case "array":
      return Array.from({ length: typeof minItems === "number" ? Math.min(minItems, MAX_DEPTH) : 0 }, () =>
        valueOf(items, root, depth + 1),
      );
    default:
      return members(schema, root, depth);
  }
}

function members({ properties, required }: JsonObject, root: JsonObject, depth: number): JsonObject {
  if (!isJsonObject(properties) || !Array.isArray(required)) return {};
  const names = required.filter((name) => typeof name === "string");
  return Object.fromEntries(names.map((name) => [name, valueOf(properties[name], root, depth + 1)]));
}

/** Returns what a reference within the schema names, such as `#/$defs/point`. */
function target(root: JsonObject, reference: string): JsonValue | undefined {
  if (!reference.startsWith("#")) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of reference.slice(1).split("/").slice(1)) {
    if (!isJsonObject(found)) return undefined;
    found = found[part.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return found;
}
