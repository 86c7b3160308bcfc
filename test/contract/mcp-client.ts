import { request } from "../support/world.ts";
import type { Agent, Answer } from "../support/world.ts";

export const MODERN = "2026-07-28";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** What the gateway announces. */
export const SERVER_CAPABILITIES = {
  experimental: { payment: { methods: { solana: { intents: ["charge"] } } } },
  tools: { listChanged: false },
};

/** `_meta` of a request in the newest version. */
export const META = { [VERSION]: MODERN, [CAPABILITIES]: {} };

/** `params._meta` without one of its members, or with others. */
export function metaWith(changes: Record<string, unknown>): object {
  return JSON.parse(JSON.stringify({ ...META, ...changes }));
}

/** Headers that repeat the request in the newest version. */
export function mirror(method: string, name?: string): Record<string, string> {
  return {
    "MCP-Protocol-Version": MODERN,
    "Mcp-Method": method,
    ...(name !== undefined && { "Mcp-Name": name }),
  };
}

/** Any server that answers requests. */
interface Asked {
  readonly baseUrl: string;
}

export function mcp(
  gateway: Asked,
  agent: Agent,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return request(gateway, agent, "/mcp", { method: "POST", body: JSON.stringify(body) }, headers);
}

/** Sends a valid request of the newest version; `headers` override. */
export function modern(
  gateway: Asked,
  agent: Agent,
  method: string,
  params: object = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  const name = "name" in params ? String(params.name) : undefined;
  const body = { jsonrpc: "2.0", id: "m-1", method, params: { _meta: META, ...params } };
  return mcp(gateway, agent, body, { ...mirror(method, name), ...headers });
}

/** Sends a tool call with progress and reads the messages of its stream in order. */
export async function watch({ baseUrl }: Asked, { apiKey }: Agent, name: string, args: object) {
  const params = { name, arguments: args, _meta: { progressToken: "t" } };
  const response = await fetch(`${baseUrl}/mcp`, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  return { status: response.status, events: eventsOf(await response.text()) };
}

// oxlint-disable-next-line typescript/no-explicit-any
export function eventsOf(text: string): any[] {
  return text
    .split("\n\n")
    .filter((event) => event.startsWith("event: message\n"))
    .map((event) => JSON.parse(event.slice("event: message\ndata: ".length)));
}
