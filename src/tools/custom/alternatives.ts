import type { ErrorObject } from "ajv";
import { isJsonObject, type JsonObject } from "../../domain/core/json.ts";

/** Whether the error comes from anyOf or oneOf as a whole. */
export function isComposite({ keyword }: ErrorObject): boolean {
  return keyword === "anyOf" || keyword === "oneOf";
}

/**
 * Returns a test for errors inside an alternative, which mean nothing on their own. Compares schemas, since
 * ajv restarts schema paths after a $ref.
 * @param root the schema that all references point into
 */
export function withinAlternatives(
  composite: ErrorObject,
  root: JsonObject,
): (error: ErrorObject) => boolean {
  const schemas = schemasIn(composite.schema, root);
  return (error) =>
    error !== composite &&
    error.parentSchema !== undefined &&
    error.instancePath.startsWith(composite.instancePath) &&
    schemas.has(error.parentSchema);
}

/** Collects all objects of a schema and of the schemas it references. */
function schemasIn(part: unknown, root: JsonObject): ReadonlySet<object> {
  const found = new Set<object>();
  const waiting: unknown[] = [part];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if (typeof one !== "object" || one === null || found.has(one)) continue;
    found.add(one);
    const inner: unknown[] = Object.values(one);
    waiting.push(...inner);
    if (isJsonObject(one) && typeof one["$ref"] === "string") waiting.push(definition(one["$ref"], root));
  }
  return found;
}

function definition(reference: string, root: JsonObject): unknown {
  if (reference === "#") return root;
  const name = /^#\/\$defs\/([^/]+)$/.exec(reference)?.[1];
  const definitions = root["$defs"];
  if (name === undefined || !isJsonObject(definitions)) return undefined;
  return definitions[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")];
}
