import { z } from "zod";
import { ToolgateError } from "../domain/errors.ts";
import { isJsonObject, type JsonObject } from "../domain/json.ts";
import type { MicroUsd } from "../domain/money.ts";
import type { Scope } from "../domain/scope.ts";
import type { Tool, ToolAnnotations, ToolContext } from "../domain/tool.ts";
import { explainIssues } from "./explain-issues.ts";

/** What every tool says of itself. */
interface ToolHead {
  readonly name: string;
  readonly description: string;
  /** Undefined: any valid key will do. */
  readonly scope: Scope | undefined;
  readonly annotations?: ToolAnnotations;
}

/** A tool, with its parameters as a schema. */
interface ToolDefinition<Schema extends z.ZodType> extends ToolHead {
  /** A strict object: members that it does not name are refused. */
  readonly params: Schema;
  /** What a call costs: undefined for free tools, an amount for a fixed price, else a function of the parameters. */
  readonly price: MicroUsd | ((params: z.output<Schema>) => MicroUsd) | undefined;
  /** @throws ToolgateError INVALID_REQUEST for what the schema cannot say */
  readonly check?: (params: z.output<Schema>) => void;
  /** @throws ToolgateError TOOL_FAILED or UNAVAILABLE */
  readonly run: (params: z.output<Schema>, context: ToolContext) => JsonObject | Promise<JsonObject>;
}

/** Makes an active tool. Its billable flag follows from its price; its JSON Schema and the check of a call come from one schema. */
export function defineTool<Schema extends z.ZodType>(definition: ToolDefinition<Schema>): Tool {
  const { name, description, scope, annotations, params: schema, price, check, run } = definition;
  const inputSchema = jsonSchemaOf(schema);
  return {
    name,
    status: "active",
    billable: price !== undefined,
    description,
    scope,
    inputSchema,
    fixedPrice: typeof price === "bigint" ? price : undefined,
    annotations,
    prepare(input) {
      const parsed = schema.safeParse(input, { reportInput: true });
      if (!parsed.success)
        throw new ToolgateError("INVALID_REQUEST", explainIssues(parsed.error.issues, inputSchema));
      const params = parsed.data;
      check?.(params);
      return {
        price: typeof price === "function" ? price(params) : (price ?? 0n),
        run: async (context) => run(params, context),
      };
    },
  };
}

/** How far the proof of what a tool depends on has come on this instance. */
export type SelfTestStatus = "running" | "passed" | "failed";

/** Seconds after which another try makes sense while the proof runs. */
const SELF_TEST_RETRY_SECONDS = 5;

/** The tool: its calls are UNAVAILABLE while the proof runs, and the tool is unavailable where it failed. */
export function afterSelfTest(tool: Tool, proof: () => SelfTestStatus): Tool {
  return {
    ...tool,
    get status() {
      return proof() === "failed" ? "coming_soon" : tool.status;
    },
    prepare(input) {
      const prepared = tool.prepare(input);
      if (proof() === "passed") return prepared;
      throw new ToolgateError(
        "UNAVAILABLE",
        `tool: ${tool.name} is starting on this instance; send the same call again in a few seconds`,
        { retryAfterSeconds: SELF_TEST_RETRY_SECONDS },
      );
    },
  };
}

/** Makes a tool that is listed but cannot be called yet, so that agents can plan for it. */
export function unavailableTool(tool: ToolHead & { readonly billable: boolean }): Tool {
  return {
    ...tool,
    status: "coming_soon",
    inputSchema: { type: "object" },
    fixedPrice: undefined,
    prepare() {
      throw new ToolgateError("TOOL_UNAVAILABLE", `tool: ${tool.name} is announced but cannot be called yet`);
    },
  };
}

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const document: unknown = JSON.parse(
    JSON.stringify(z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" })),
  );
  if (!isJsonObject(document)) throw new TypeError("the parameters of a tool must be an object schema");
  return document;
}
