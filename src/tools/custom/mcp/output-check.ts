import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { withinMs } from "../time-limit.ts";

/** Longest that a schema of results may take to be understood, and one result to be checked, ms. */
const COMPILE_MS = 2_000;
const CHECK_MS = 200;

/**
 * Checks what tools give against the schemas that their servers wrote, and gives up what takes too long: with a pattern and an answer that
 * fit each other badly enough, one server would keep the whole gateway from everything else.
 */
export function outputCheck(): jsonSchemaValidator {
  // One library for each schema: it remembers them by their `$id`, and one that was stopped in its work is not to be trusted.
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
