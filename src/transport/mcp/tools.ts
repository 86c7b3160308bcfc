import type { MessageShape } from "@bufbuild/protobuf";
import { z } from "zod";
import { receiptToJson } from "#gen/toolgate/v1/receipt_http.ts";
import { callToolRequestFromJson } from "#gen/toolgate/v1/tool_service_http.ts";
import type { CallToolRequestSchema, CallToolResponseSchema } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Catalogue } from "../../app/catalogue.ts";
import { isJsonObject } from "../../domain/json.ts";
import type { Tool } from "../../domain/tool.ts";
import { JsonRpcError, RPC_ERROR } from "./message.ts";

const callSchema = z.object({ name: z.string(), arguments: z.unknown().optional() });

/** MCP tools/list: what can be called, in the catalogue's order, on one page. */
export function listTools(catalogue: Catalogue, params: Record<string, unknown> | undefined): object {
  if (params?.["cursor"] !== undefined)
    throw new JsonRpcError(RPC_ERROR.invalidParams, "params.cursor: there is one page only");
  return { tools: catalogue.tools.filter((tool) => tool.status === "active").map(listed) };
}

function listed({ name, description, inputSchema, billable }: Tool): object {
  return { name, description, inputSchema, _meta: { "toolgate/billable": billable } };
}

/**
 * MCP tools/call as the contract's tool call, read by the contract's reader, so that its limits hold here too.
 * @throws JsonRpcError for an unknown tool, as MCP asks (Tools, error handling)
 * @throws JsonFieldError for arguments that the contract cannot hold: nested too deeply, or not well-formed Unicode
 */
export function toolCallOf(catalogue: Catalogue, params: unknown): MessageShape<typeof CallToolRequestSchema> {
  const call = callSchema.safeParse(params);
  if (!call.success) throw new JsonRpcError(RPC_ERROR.invalidParams, "params.name: must be the name of a tool");
  const { name, arguments: toolParams = {} } = call.data;
  if (!catalogue.tools.some((tool) => tool.name === name && tool.status === "active")) {
    throw new JsonRpcError(RPC_ERROR.invalidParams, `Unknown tool: ${name.slice(0, 128)}`);
  }
  if (!isJsonObject(toolParams)) throw new JsonRpcError(RPC_ERROR.invalidParams, "params.arguments: must be an object");
  return callToolRequestFromJson({ tool: name, params: toolParams });
}

/** A successful MCP tool result: the output as structured content and, for older clients, as text; the receipt beside it. */
export function toolResult({ result, receipt }: MessageShape<typeof CallToolResponseSchema>): object {
  const content = [{ type: "text", text: JSON.stringify(result ?? {}) }];
  const answer = { content, structuredContent: result ?? {}, isError: false };
  return receipt ? { ...answer, _meta: { "toolgate/receipt": receiptToJson(receipt) } } : answer;
}

/** A tool result that tells the model what is wrong with its arguments (MCP, tool execution errors). */
export function failedToolResult(message: string): object {
  return { content: [{ type: "text", text: message }], isError: true };
}
