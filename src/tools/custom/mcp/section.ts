import type { Target } from "../settings.ts";

export type McpSection = Extract<Target, { kind: "mcp" }>["section"];
