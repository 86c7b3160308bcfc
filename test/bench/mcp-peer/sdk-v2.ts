import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const inputSchema = z.object({ message: z.string() });

/** The official library, version 2: a handler that creates a server per request. */
export const handle = toNodeHandler(
  createMcpHandler(() => {
    const mcp = new McpServer({ name: "peer", version: "1.0.0" });
    mcp.registerTool("echo", { inputSchema }, ({ message }) => ({
      content: [{ type: "text", text: JSON.stringify({ echo: message }) }],
      structuredContent: { echo: message },
    }));
    return mcp;
  }),
);
