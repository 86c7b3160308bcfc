import { AjvJsonSchemaValidator } from "@modelcontextprotocol/client/validators/ajv";
import type { jsonSchemaValidator } from "@modelcontextprotocol/client";
import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../../domain/core/json.ts";
import { asDraft2020 } from "../schema-drafts.ts";
import { withinMs } from "../time-limit.ts";

const text = z.string().nullish().catch(undefined);
const schema = z.record(z.string(), z.json()).nullish();

/** An entry of tools/list. Of its members only those are read that a call needs. */
const entry = z.object({
  name: z.string(),
  title: text,
  description: text,
  inputSchema: schema,
  outputSchema: schema,
  execution: z.object({ taskSupport: z.string() }).nullish().catch(undefined),
});

/** A page of tools/list. An entry that cannot be read does not hide the others. */
export const toolPage = z.object({ tools: z.array(z.unknown()), nextCursor: text });

/** Returns the tool of that name from a page. @throws Error with a message for the operator */
export function toolIn(page: z.output<typeof toolPage>, wanted: string): McpTool | undefined {
  const found = page.tools.find((one) => isJsonObject(one) && one["name"] === wanted);
  if (found === undefined) return undefined;
  const { data, error } = entry.safeParse(found);
  if (!data) throw new Error(`the server describes the tool ${wanted} wrongly: ${z.prettifyError(error)}`);
  const { name, title, description, inputSchema, outputSchema, execution } = data;
  const own = { name, description: description ?? title ?? undefined };
  const needsTask = execution?.taskSupport === "required";
  const input = objectSchema(inputSchema ?? {});
  if (!input) throw new Error(`the tool ${name} takes no object of parameters`);
  requireOwn(name, "inputSchema", input);
  if (!outputSchema) return { ...own, needsTask, inputSchema: input };
  requireOwn(name, "outputSchema", outputSchema);
  const output = asDraft2020(outputSchema);
  // Compiles the output schema now; a failure later would waste a call.
  outputCheck().getValidator(output);
  return { ...own, needsTask, inputSchema: input, outputSchema: output };
}

export interface McpTool {
  readonly name: string;
  readonly description: string | undefined;
  /** Whether it can only be called as a task (MCP 2025-11-25, execution.taskSupport). */
  readonly needsTask: boolean;
  readonly inputSchema: ObjectSchema;
  readonly outputSchema?: JsonObject;
}

type ObjectSchema = JsonObject & { type: "object" };

/** MCP asks for `type: object`, which some servers leave out. */
function objectSchema(given: JsonObject): ObjectSchema | undefined {
  const { type = "object" } = given;
  return [type].flat().includes("object") ? { ...given, type: "object" } : undefined;
}

/** Checks the result of a task; the client library checks the others. @throws Error */
export function requireOutput(
  { name, outputSchema }: McpTool,
  { structuredContent, isError }: { structuredContent?: unknown; isError?: boolean | undefined },
): void {
  if (!outputSchema || isError === true) return;
  const { valid } = outputCheck().getValidator(outputSchema)(structuredContent);
  if (!valid) throw new Error(`the result does not match the output schema of ${name}`);
}

function requireOwn(tool: string, member: string, given: JsonObject): void {
  const foreign = foreignReference(given);
  if (foreign === undefined) return;
  throw new Error(
    `the ${member} of the tool ${tool} refers to ${foreign}; schemas must hold all that they refer to`,
  );
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
