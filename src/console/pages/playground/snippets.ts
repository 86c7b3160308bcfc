import type { JsonObject } from "@bufbuild/protobuf";
import type { ToolCall } from "./tool-call.ts";

/** Where the key is read from: what is copied is often passed on, and a key is not to be. */
const KEY_VARIABLE = "TOOLGATE_API_KEY";

/** The call as a line for a shell. */
export function curlSnippet(baseUrl: string, { tool, params }: ToolCall): string {
  return [
    `curl -sS -i ${shellQuote(`${baseUrl}/v1/mcp/tools/call`)} \\`,
    `  -H "Authorization: Bearer $${KEY_VARIABLE}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${shellQuote(JSON.stringify({ tool, params }))}`,
  ].join("\n");
}

/** What an MCP client needs to have this tool, and all others. */
export function mcpSnippet(baseUrl: string): string {
  const headers = { Authorization: `Bearer \${${KEY_VARIABLE}}` };
  return JSON.stringify(
    { mcpServers: { toolgate: { type: "http", url: `${baseUrl}/mcp`, headers } } },
    undefined,
    2,
  );
}

/** The call as a program. */
export function typescriptSnippet(baseUrl: string, { tool, params }: ToolCall): string {
  return [
    'import process from "node:process";',
    'import { ToolgateClient } from "toolgate/client";',
    "",
    "const client = new ToolgateClient({",
    `  baseUrl: ${JSON.stringify(baseUrl)},`,
    `  apiKey: process.env["${KEY_VARIABLE}"] ?? "",`,
    "});",
    `const { result, receipt } = await client.callTool(${JSON.stringify(tool)}, ${literal(params)});`,
    "console.log(result, receipt?.receiptId);",
  ].join("\n");
}

/** JSON is an expression of JavaScript, but for a member that would set the prototype, which an object of JSON.parse has as its own. */
function literal(params: JsonObject): string {
  const text = JSON.stringify(params, undefined, 2);
  return text.includes('"__proto__"') ? `JSON.parse(${JSON.stringify(text)})` : text;
}

/** A word of a POSIX shell, whatever is in it. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
