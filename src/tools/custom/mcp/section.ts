import type { Target } from "../settings.ts";

/** What the operator wrote of a tool of an MCP server. */
export type McpSection = Extract<Target, { kind: "mcp" }>["section"];
