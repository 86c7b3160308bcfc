import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import { withinMs } from "../bounded.ts";

/** Longest that a schema of results may take to be understood, and one result to be checked, ms. */
const COMPILE_MS = 2_000;
const CHECK_MS = 200;

/**
 * Checks what tools give against the schemas that their servers wrote, and gives up what takes too long: with a pattern and an answer that
 * fit each other badly enough, one server would keep the whole gateway from everything else.
 */
export function outputCheck(): jsonSchemaValidator {
  // One for each connection: it remembers schemas by their `$id`, and no server may speak for another's.
  const library = new AjvJsonSchemaValidator();
  return {
    getValidator<Output>(schema: Parameters<jsonSchemaValidator["getValidator"]>[0]) {
      const validate = withinMs(COMPILE_MS, () => library.getValidator<Output>(schema));
      return (output: unknown) => withinMs(CHECK_MS, () => validate(output));
    },
  };
}
