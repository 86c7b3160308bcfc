import type { Tool, jsonSchemaValidator } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { withinMs } from "../time-limit.ts";

/** Returns the input schema of a tool. @throws Error with a message for the operator */
export function inputSchemaOf({ name, inputSchema, outputSchema }: Tool): JsonObject {
  const schema: unknown = structuredClone(inputSchema);
  if (!isJsonObject(schema) || schema["type"] !== "object")
    throw new Error(`the tool ${name} takes no object of parameters`);
  for (const [member, one] of [
    ["inputSchema", schema],
    ["outputSchema", outputSchema],
  ] as const) {
    const foreign = foreignReference(one);
    if (foreign !== undefined)
      throw new Error(
        `the ${member} of the tool ${name} refers to ${foreign}; schemas must hold all that they refer to`,
      );
  }
  // Compiles the output schema now; a failure later would waste a call.
  const { $schema, ...rest } = outputSchema ?? {};
  if (outputSchema) outputCheck().getValidator({ ...rest, ...($schema !== undefined && { $schema }) });
  return schema;
}

/** Returns the first reference that points outside the schema. */
function foreignReference(schema: unknown): string | undefined {
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [keyword, one] of Object.entries(value)) {
      const refers = keyword === "$ref" || keyword === "$dynamicRef";
      if (refers && typeof one === "string" && !one.startsWith("#")) return one.slice(0, 200);
      open.push(one);
    }
  }
  return undefined;
}

/** ms */
const COMPILE_MS = 2_000;
const CHECK_MS = 200;

/** Validates results by the server's own schema, with a time limit: a hostile pattern could block. */
export function outputCheck(): jsonSchemaValidator {
  // One validator per schema: it caches schemas by `$id`, and an interrupted one may be inconsistent.
  const libraries = new WeakMap<object, AjvJsonSchemaValidator>();
  return {
    getValidator<Output>(schema: Parameters<jsonSchemaValidator["getValidator"]>[0]) {
      const validate = withinMs(COMPILE_MS, () => {
        const library = libraries.get(schema) ?? new AjvJsonSchemaValidator();
        const compiled = library.getValidator<Output>(schema);
        libraries.set(schema, library);
        return compiled;
      });
      return (output: unknown) => withinMs(CHECK_MS, () => validate(output));
    },
  };
}
