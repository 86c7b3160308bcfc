import type { JsonObject } from "@bufbuild/protobuf";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { exampleFor } from "../playground/examples.ts";
import { fieldsFromSchema, paramsFromTexts } from "../playground/schema.ts";

/** A call to try a key with. */
interface FirstCall {
  readonly tool: string;
  readonly params: JsonObject;
}

/** What a key may do, as far as it matters here. */
interface Permissions {
  readonly scopes: readonly string[];
  /** The only tools that it may call; empty: all. */
  readonly tools: readonly string[];
}

/** Of the gateway's own tools, those that need a scope. What the catalogue's other tools need is not told there. */
const SCOPE_OF: Readonly<Record<string, string>> = {
  vram_estimate: "compute:read",
  inference_chat: "inference:write",
  sandbox_execute: "compute:run",
  sandbox_cancel: "compute:run",
};

/** The tools that are tried first: a paid one that costs little, then free ones. */
const PREFERRED = ["vram_estimate", "echo", "get_status"];

/** A call that a key with these rights may make, with parameters that work where the tool's example or schema has any. */
export function firstCallFor({ scopes, tools }: Permissions, catalogue: readonly Tool[]): FirstCall {
  const may = (tool: string) =>
    (tools.length === 0 || tools.includes(tool)) &&
    (SCOPE_OF[tool] === undefined || scopes.includes(SCOPE_OF[tool]));
  const active = catalogue.filter(({ status }) => status === ToolStatus.ACTIVE).map(({ name }) => name);
  const tool = [...PREFERRED, ...active, ...tools].find(may) ?? "get_status";
  const schema = catalogue.find(({ name }) => name === tool)?.inputSchema;
  return { tool, params: paramsFromTexts(fieldsFromSchema(schema), exampleFor(tool, schema)).params };
}
