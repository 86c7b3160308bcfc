import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Server as McpServer } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import {
  CallToolRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  type CallToolResult,
} from "@modelcontextprotocol/sdk/types.js";
import { listen as listenOn } from "../../../support/servers.ts";

/** A received message with its headers. */
export interface Seen {
  method: string | undefined;
  headers: IncomingMessage["headers"];
  message: {
    method?: string;
    id?: number;
    params?: { name?: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> };
  };
}

export interface TestServer {
  url: string;
  seen: Seen[];
  /** Received tools/call messages. */
  calls(): Seen[];
  close(): void;
}

/** A server of the official library that can expire its sessions. */
export interface OfficialServer extends TestServer {
  forget(): void;
}

const NUMBERS = {
  type: "object" as const,
  properties: { a: { type: "number" }, b: { type: "number" } },
  required: ["a", "b"],
};
const SUM = { type: "object" as const, properties: { sum: { type: "number" } }, required: ["sum"] };
const NOTHING = { type: "object" as const, properties: {} };

/** One tool per page. */
const TOOLS = [
  {
    name: "add",
    title: "Addition",
    description: "Adds two numbers.",
    inputSchema: NUMBERS,
    outputSchema: SUM,
  },
  { name: "lie", inputSchema: NOTHING, outputSchema: SUM },
  { name: "say", description: "Says something.", inputSchema: NOTHING },
  { name: "fail", inputSchema: NOTHING },
  { name: "throw", inputSchema: NOTHING },
  { name: "wait", inputSchema: NOTHING },
  { name: "flood", inputSchema: NOTHING },
  { name: "beg", inputSchema: NOTHING },
];

export async function startOfficialServer(
  kind: "stateful" | "stateless",
  make: () => Pick<McpServer, "connect"> = officialServer,
): Promise<OfficialServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const server = await listen(async (request, response, body) => {
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known) return known.handleRequest(request, response, body);
    if (kind === "stateful" && request.headers["mcp-session-id"] !== undefined) {
      response.writeHead(404).end();
      return;
    }
    const transport = new StreamableHTTPServerTransport({
      ...(kind === "stateful" && {
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id: string) => void sessions.set(id, transport),
      }),
      enableJsonResponse: kind === "stateless",
    });
    await make().connect(transport);
    await transport.handleRequest(request, response, body);
  });
  return { ...server, forget: () => sessions.clear() };
}

function officialServer(): McpServer {
  const server = new McpServer(
    { name: "adder", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const at = Number(params?.cursor ?? 0);
    return { tools: TOOLS.slice(at, at + 1), ...(at + 1 < TOOLS.length && { nextCursor: String(at + 1) }) };
  });
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { signal, sendRequest }): Promise<CallToolResult> => {
      switch (params.name) {
        case "add": {
          await server.sendToolListChanged().catch(() => {});
          const sum = Number(params.arguments?.["a"]) + Number(params.arguments?.["b"]);
          return { content: [{ type: "text", text: JSON.stringify({ sum }) }], structuredContent: { sum } };
        }
        case "lie":
          return { content: [], structuredContent: { sum: "not a number" } };
        case "fail":
          return { content: [{ type: "text", text: "the reason why" }], isError: true };
        case "wait":
          await once(signal, "abort");
          return { content: [] };
        case "flood":
          return { content: [{ type: "text", text: "x".repeat(200_000) }] };
        case "beg": {
          const refusal = await sendRequest({ method: "roots/list" }, ListRootsResultSchema).catch(
            (error: unknown) => String(error),
          );
          return { content: [{ type: "text", text: `roots: ${JSON.stringify(refusal)}` }] };
        }
        case "say":
          return {
            content: [
              { type: "text", text: '{"looks":"like JSON"}' },
              { type: "image", data: "AAEC", mimeType: "image/png" },
              { type: "text", text: "and more" },
            ],
          };
        default:
          throw new Error("the reason why");
      }
    },
  );
  return server;
}

/** Handles calls of the only tool, `odd`. */
export type Lie = (response: ServerResponse, id: number | undefined) => void;

/** Newest revision: no sessions and more fields per result (MCP 2026-07-28). */
export const NEWEST = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
const DISCOVERED = { ...NEWEST, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };

export async function startNewLyingServer(lie: Lie): Promise<TestServer> {
  return listen(async (_request, response, body) => {
    const { method, id } = body as Seen["message"];
    if (method === "server/discover") reply(response, id, DISCOVERED);
    else if (method === "tools/list")
      reply(response, id, { ...NEWEST, tools: [{ name: "odd", inputSchema: NOTHING }] });
    else lie(response, id);
  });
}

/** Starts a server that initialises correctly and misbehaves in calls. */
export async function startLyingServer(
  lie: Lie,
  tool: unknown = { name: "odd", inputSchema: NOTHING },
): Promise<TestServer> {
  return listen(async (request, response, body) => {
    const { method, id } = body as Seen["message"];
    if (request.method !== "POST") response.writeHead(405).end();
    else if (method === "tools/call") lie(response, id);
    else if (method === "tools/list") reply(response, id, { tools: [tool].flat(), nextCursor: null });
    else if (method === "initialize")
      reply(response, id, {
        protocolVersion: "2025-06-18",
        capabilities: { tools: {} },
        serverInfo: { name: "liar", version: "1" },
      });
    else if (id === undefined) response.writeHead(202).end();
    else
      response
        .writeHead(200, JSON_TYPE)
        .end(json({ jsonrpc: "2.0", id, error: { code: -32601, message: "no" } }));
  });
}

export const JSON_TYPE = { "content-type": "application/json" };

export function reply(response: ServerResponse, id: number | undefined, result: object): void {
  response.writeHead(200, JSON_TYPE).end(json({ jsonrpc: "2.0", id, result }));
}

function json(value: object): string {
  return JSON.stringify(value);
}

export function startWatchedServer(target: string): Promise<TestServer> {
  return listen(async (request, response, body) => {
    const headers = Object.entries(request.headers).filter(([name]) => !HOP_BY_HOP.has(name));
    const answer = await fetch(target, {
      method: request.method ?? "POST",
      headers: headers.map(([name, value]) => [name, String(value)]),
      body: json(body as object),
    });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  });
}

const HOP_BY_HOP = new Set(["host", "connection", "content-length", "transfer-encoding", "expect"]);

type Handle = (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;

async function listen(handle: Handle): Promise<TestServer> {
  const seen: Seen[] = [];
  const server: Server = createServer((request, response) => {
    void read(request).then((message) => {
      seen.push({ method: request.method, headers: request.headers, message });
      return handle(request, response, message);
    });
  });
  return {
    url: `http://127.0.0.1:${await listenOn(server)}/mcp`,
    seen,
    calls: () => seen.filter(({ message }) => message.method === "tools/call"),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function read(request: IncomingMessage): Promise<Seen["message"]> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text === "" ? {} : JSON.parse(text);
}
