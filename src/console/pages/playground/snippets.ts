import type { JsonObject } from "@bufbuild/protobuf";
import type { ToolCall } from "./tool-call.ts";

/** Snippets read the key from the environment: they are often shared, and a key must not be. */
const KEY_VARIABLE = "TOOLGATE_API_KEY";

export function curlSnippet(baseUrl: string, { tool, params }: ToolCall): string {
  return [
    `curl -sS -i ${shellQuote(`${baseUrl}/v1/mcp/tools/call`)} \\`,
    `  -H "Authorization: Bearer $${KEY_VARIABLE}" \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${shellQuote(JSON.stringify({ tool, params }))}`,
  ].join("\n");
}

export function mcpSnippet(baseUrl: string): string {
  const headers = { Authorization: `Bearer \${${KEY_VARIABLE}}` };
  return JSON.stringify(
    { mcpServers: { toolgate: { type: "http", url: `${baseUrl}/mcp`, headers } } },
    undefined,
    2,
  );
}

export function typescriptSnippet(baseUrl: string, { tool, params }: ToolCall): string {
  return [
    'import process from "node:process";',
    'import { ToolgateClient } from "toolgate-client";',
    "",
    "const client = new ToolgateClient({",
    `  baseUrl: ${JSON.stringify(baseUrl)},`,
    `  apiKey: process.env["${KEY_VARIABLE}"] ?? "",`,
    "});",
    `const { result, receipt } = await client.callTool(${JSON.stringify(tool)}, ${literal(params)});`,
    "console.log(result, receipt?.receiptId);",
  ].join("\n");
}

/** JSON is valid JavaScript except for `__proto__`, which sets the prototype in an object literal. */
export function literal(params: JsonObject): string {
  const text = JSON.stringify(params, undefined, 2);
  return text.includes('"__proto__"') ? `JSON.parse(${JSON.stringify(text)})` : text;
}

/** Quotes a word for a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
