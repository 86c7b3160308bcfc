import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { callGrpc, grpcClient } from "../../transport/grpc-client.ts";
import type { Agent, World } from "../../support/world.ts";
import { CHAT } from "./chat.ts";

/** A way in: calls the chat with these headers until the signal aborts. @returns the receipt's identifier */
export type TransportCall = (
  world: World,
  agent: Agent,
  headers: Record<string, string>,
  signal: AbortSignal,
) => Promise<unknown>;

/** Every kind of connection that a caller can leave. */
export const TRANSPORTS: readonly [name: string, call: TransportCall][] = [
  [
    "POST /v1/mcp/tools/call",
    async (world, agent, headers, signal) =>
      (await post(world, agent, "/v1/mcp/tools/call", CHAT, headers, signal)).receipt,
  ],
  [
    "MCP",
    async (world, agent, headers, signal) => {
      const params = { name: CHAT.tool, arguments: CHAT.params };
      const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      const { result } = await post(world, agent, "/mcp", message, headers, signal);
      return result._meta["toolgate/receipt"];
    },
  ],
  [
    "gRPC",
    async (world, { apiKey }, headers, signal) => {
      const client = grpcClient(world.gateway.grpcAddress);
      try {
        const metadata = { authorization: `Bearer ${apiKey}`, ...headers };
        const { message } = await callGrpc(client, ToolService.method.callTool, CHAT, { metadata, signal });
        const { receiptId, txSignature } = message.receipt ?? {};
        return { receipt_id: receiptId, tx_signature: txSignature };
      } finally {
        client.close();
      }
    },
  ],
];

async function post(
  { gateway }: World,
  { apiKey }: Agent,
  path: string,
  body: object,
  headers: Record<string, string>,
  signal: AbortSignal,
) {
  const response = await fetch(gateway.baseUrl + path, {
    method: "POST",
    headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal,
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text);
}
