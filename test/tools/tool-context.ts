import { DEFAULT_SCOPES } from "../../src/domain/accounts/scope.ts";
import type { JsonObject } from "../../src/domain/core/json.ts";
import type { Tool, ToolContext } from "../../src/domain/tools/tool.ts";
import { newCaller } from "../app/context.ts";

export function toolContext(signal: AbortSignal = new AbortController().signal): ToolContext {
  return {
    caller: newCaller({ keyId: "key_1", accountId: "acct_1", scopes: new Set(DEFAULT_SCOPES) }),
    runId: "run_1",
    idempotencyKey: "claim_1",
    signal,
  };
}

/** Calls a tool as the gateway does: parse, prepare, run. */
export async function call(tool: Tool, json: string): Promise<JsonObject> {
  return tool.prepare(JSON.parse(json)).run(toolContext());
}

/** Returns the validation error as text. */
export function refusalOf(tool: Tool, params: string): string {
  try {
    tool.prepare(JSON.parse(params));
  } catch (error) {
    if (error instanceof Error && "code" in error) return `${String(error.code)} ${error.message}`;
    throw error;
  }
  throw new Error("the parameters were accepted");
}
