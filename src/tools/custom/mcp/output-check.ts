import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { withinMs } from "../time-limit.ts";

/** ms */
const COMPILE_MS = 2_000;
const CHECK_MS = 200;

/**
 * Validates results against a server's own output schema, with a time limit: a hostile pattern could block
 * the process.
 */
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
