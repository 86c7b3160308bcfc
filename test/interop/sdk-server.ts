import { createServer } from "node:http";
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { SERVER_CAPABILITIES } from "../contract/mcp-client.ts";
import { closeServer, listen } from "../support/servers.ts";

/** A server of the official library, without sessions, as its documentation builds one. */
export interface SdkServer {
  readonly baseUrl: string;
  close(): Promise<void>;
}

/** Starts it with `echo` as its one tool, that does what ours does. */
export async function startSdkServer(): Promise<SdkServer> {
  const handler = createMcpHandler(() => {
    const { experimental } = SERVER_CAPABILITIES;
    const about = { instructions: "for comparison", capabilities: { experimental } };
    const server = new McpServer({ name: "reference", version: "1.0.0" }, about);
    const inputSchema = z.strictObject({ message: z.string() });
    const listed = {
      description: "Sends a message back.",
      annotations: { readOnlyHint: true },
      _meta: { free: true },
    };
    server.registerTool("echo", { ...listed, inputSchema }, ({ message }) => ({
      content: [{ type: "text", text: JSON.stringify({ echo: message }) }],
      structuredContent: { echo: message },
      isError: false,
    }));
    return server;
  });
  const [hostIsGood, originIsGood, handle] = [
    localhostHostValidation(),
    localhostOriginValidation(),
    toNodeHandler(handler),
  ];
  const server = createServer((request, response) => {
    if (!hostIsGood(request, response) || !originIsGood(request, response)) return;
    // The library's types require what every request of a server has.
    const { method = "", url = "" } = request;
    if (url === "/mcp") void handle(Object.assign(request, { method, url }), response);
    else response.writeHead(404).end();
  });
  return {
    baseUrl: `http://127.0.0.1:${await listen(server)}`,
    async close() {
      await handler.close();
      await closeServer(server);
    },
  };
}
