import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/core/json.ts";

const MAX_NAMES = 20;

/** Returns why an expression cannot be computed: it names a parameter that the schema does not have. */
export function unknownParameter(
  paths: readonly (readonly string[])[],
  schema: JsonObject,
): string | undefined {
  for (const [root, ...path] of paths) {
    if (root !== "params") continue;
    const at = path.findIndex((_, index) => !mayHave(schema, path.slice(0, index + 1), schema));
    if (at < 0) continue;
    const known = namesIn(schema, "params", schema).slice(0, MAX_NAMES).join(", ") || "no parameter";
    const named = path.slice(0, at + 1).join(".");
    return `names params.${named}, which does not exist; there is ${known}`;
  }
  return undefined;
}

/** Whether a value that fits the schema may have a member at the path. What is not declared may. */
function mayHave(
  schema: JsonValue | undefined,
  [name, ...rest]: readonly string[],
  root: JsonObject,
): boolean {
  if (name === undefined || !isJsonObject(schema)) return schema !== false;
  const parts = partsOf(schema, root);
  const declared = parts.flatMap(({ properties }) =>
    isJsonObject(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
  );
  if (declared.length > 0) return declared.some((one) => mayHave(one, rest, root));
  const isClosed = parts.some(({ properties, additionalProperties: more, patternProperties }) =>
    more === undefined ? isJsonObject(properties) && patternProperties === undefined : more === false,
  );
  return !isClosed || parts.some(({ additionalProperties: more }) => more === true || isJsonObject(more));
}

/** A schema with those that it refers to and combines. */
function partsOf(schema: JsonObject, root: JsonObject, seen = new Set<JsonObject>()): JsonObject[] {
  if (seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, allOf, anyOf, oneOf } = schema;
  const inner = [typeof $ref === "string" ? target($ref, root) : undefined, allOf, anyOf, oneOf].flat();
  return [schema, ...inner.flatMap((one) => (isJsonObject(one) ? partsOf(one, root, seen) : []))];
}

function target(reference: string, root: JsonObject): JsonValue | undefined {
  let part: JsonValue | undefined = root;
  for (const step of reference.split("/").slice(1)) {
    if (!isJsonObject(part)) return undefined;
    part = part[step.replaceAll("~1", "/").replaceAll("~0", "~")];
  }
  return part;
}

/** Names of parameters, those of objects with their members. */
function namesIn(schema: JsonObject, prefix: string, root: JsonObject, depth = 0): string[] {
  return partsOf(schema, root).flatMap(({ properties }) => {
    if (!isJsonObject(properties)) return [];
    return Object.entries(properties).flatMap(([name, one]) => {
      const path = `${prefix}.${name}`;
      const inner = isJsonObject(one) && depth < 2 ? namesIn(one, path, root, depth + 1) : [];
      return inner.length > 0 ? inner : [path];
    });
  });
}
