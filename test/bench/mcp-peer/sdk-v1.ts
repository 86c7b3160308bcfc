import type { IncomingMessage, ServerResponse } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const inputSchema = { message: z.string() };

/**
 * The official library, first line: without sessions, it takes a server and a transport for each request.
 * Answers in JSON.
 */
export async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const mcp = new McpServer({ name: "peer", version: "1.0.0" });
  mcp.registerTool("echo", { inputSchema }, ({ message }) => ({
    content: [{ type: "text", text: JSON.stringify({ echo: message }) }],
    structuredContent: { echo: message },
  }));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on("close", () => {
    void transport.close();
    void mcp.close();
  });
  await mcp.connect(transport);
  await transport.handleRequest(request, response);
}
