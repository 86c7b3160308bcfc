import type { JsonObject } from "@bufbuild/protobuf";
import { ToolStatus, type Tool } from "#gen/toolgate/v1/tool_pb.ts";
import { exampleFor } from "../playground/examples.ts";
import { fieldsFromSchema, paramsFromTexts } from "../playground/schema.ts";

interface FirstCall {
  readonly tool: string;
  readonly params: JsonObject;
}

interface Permissions {
  readonly scopes: readonly string[];
  /** Allowed tools; empty means all. */
  readonly tools: readonly string[];
}

/** Scopes that built-in tools require. The catalogue has no scopes of custom tools. */
const SCOPE_OF: Readonly<Record<string, string>> = {
  vram_estimate: "compute:read",
  inference_chat: "inference:write",
  inference_embed: "inference:write",
  sandbox_execute: "compute:run",
  sandbox_cancel: "compute:run",
};

/** Preferred examples: a cheap paid tool, then free ones. */
const PREFERRED = ["vram_estimate", "echo", "get_status"];

/** Returns a call that a key with these permissions may make, with example parameters. */
export function firstCallFor({ scopes, tools }: Permissions, catalogue: readonly Tool[]): FirstCall {
  const may = (tool: string) =>
    (tools.length === 0 || tools.includes(tool)) &&
    (SCOPE_OF[tool] === undefined || scopes.includes(SCOPE_OF[tool]));
  const active = catalogue.filter(({ status }) => status === ToolStatus.ACTIVE).map(({ name }) => name);
  const tool = [...PREFERRED, ...active, ...tools].find(may) ?? "get_status";
  const schema = catalogue.find(({ name }) => name === tool)?.inputSchema;
  return { tool, params: paramsFromTexts(fieldsFromSchema(schema), exampleFor(tool, schema)).params };
}
