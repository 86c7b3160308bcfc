import { z } from "zod";
import { ToolgateError } from "../domain/core/errors.ts";
import { isJsonObject, type JsonObject } from "../domain/core/json.ts";
import type { MicroUsd } from "../domain/core/money.ts";
import type { Scope } from "../domain/accounts/scope.ts";
import type { SelfTestStatus } from "../domain/tools/sandbox.ts";
import type { PreparedCall, Tool, ToolAnnotations, ToolContext } from "../domain/tools/tool.ts";
import { oncePerObject } from "./once-per-object.ts";
import { explainIssues, type ItemLimits, requireFewItems } from "./explain-issues.ts";

interface ToolHead {
  readonly name: string;
  readonly description: string;
  /** Undefined: any valid key. */
  readonly scope: Scope | undefined;
  readonly annotations?: ToolAnnotations;
}

interface ToolDefinition<Schema extends z.ZodType<object>> extends ToolHead {
  /** A strict object: unknown members are rejected. */
  readonly params: Schema;
  /** Undefined: small ones. */
  readonly maxParamsBytes?: number;
  /** Whether `run` meters. */
  readonly metered?: boolean;
  /** Undefined: free. An amount: fixed. A function: depends on the parameters. Micro-USD. */
  readonly price: MicroUsd | ((params: z.output<Schema>) => MicroUsd) | undefined;
  /** @throws ToolgateError INVALID_REQUEST for what the schema cannot express */
  readonly check?: (params: z.output<Schema>) => void;
  /** @throws ToolgateError TOOL_FAILED or UNAVAILABLE */
  readonly run: (params: z.output<Schema>, context: ToolContext) => JsonObject | Promise<JsonObject>;
}

export interface DefinedTool<Params> extends Tool {
  /** As {@link Tool.prepare}, with other values for some members. The same `params` are validated once. */
  prepareWith(params: JsonObject, change: Partial<Params>): PreparedCall;
}

/** Defines an active tool: the schema yields validation and JSON Schema, the price `billable`. */
export function defineTool<Schema extends z.ZodType<object>>(
  definition: ToolDefinition<Schema>,
): DefinedTool<z.output<Schema>> {
  const { name, description, scope, annotations, metered, params: schema, price, check, run } = definition;
  const inputSchema = jsonSchemaOf(schema);
  const limits = itemLimitsOf(inputSchema);
  const validate = (input: JsonObject) => {
    requireFewItems(input, limits);
    const parsed = schema.safeParse(input, { reportInput: true });
    if (!parsed.success)
      throw new ToolgateError("INVALID_REQUEST", explainIssues(parsed.error.issues, inputSchema));
    return parsed.data;
  };
  const validatedOnce = oncePerObject(validate);
  const prepared = (params: z.output<Schema>): PreparedCall => {
    check?.(params);
    return {
      price: typeof price === "function" ? price(params) : (price ?? 0n),
      run: (context) => run(params, context),
    };
  };
  return {
    name,
    status: "active",
    billable: price !== undefined,
    description,
    scope,
    inputSchema,
    fixedPrice: typeof price === "bigint" ? price : undefined,
    ...(metered !== undefined && { metered }),
    maxParamsBytes: definition.maxParamsBytes,
    annotations,
    prepare: (input) => prepared(validate(input)),
    prepareWith: (input, change) => prepared({ ...validatedOnce(input), ...change }),
  };
}

const SELF_TEST_RETRY_SECONDS = 5;

/** Makes calls UNAVAILABLE while the self-test runs, and the tool unavailable if it failed. */
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

/** Returns a tool that is listed but cannot be called. */
export function unavailableTool(tool: ToolHead & { readonly billable: boolean }): Tool {
  return {
    ...tool,
    status: "coming_soon",
    inputSchema: { type: "object" },
    fixedPrice: undefined,
    prepare() {
      throw new ToolgateError("TOOL_UNAVAILABLE", `tool: ${tool.name} is listed but cannot be called yet`);
    },
  };
}

function itemLimitsOf({ properties }: JsonObject): ItemLimits {
  const members = isJsonObject(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(
    members.flatMap(([name, member]) => {
      const most = isJsonObject(member) ? member["maxItems"] : undefined;
      return typeof most === "number" ? [[name, most]] : [];
    }),
  );
}

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const document: unknown = JSON.parse(
    JSON.stringify(z.toJSONSchema(schema, { target: "draft-2020-12", io: "input" })),
  );
  if (!isJsonObject(document)) throw new TypeError("the parameters of a tool must be an object schema");
  return document;
}
