import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import type { Log } from "../../src/domain/core/log.ts";
import { COMPLETION, json, modelServer, type ModelServer } from "../inference/model-server.ts";
import { SLOT_MS } from "../interop/x402-payer.ts";
import { startWorld, type Agent, type World } from "../support/world.ts";
import { callGrpc, grpcClient } from "../transport/grpc-client.ts";

export const CALL = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };
export const EMBED = { tool: "inference_embed", params: { model: "e1", input: ["the text"] } };
const CHAT = { model: "m1", messages: [{ role: "user", content: "the prompt" }] };
const { callTool } = ToolService.method;

/** A paid call by an account holder over one transport. @param headers also metadata or MCP's `_meta` */
export type PaidCall = (world: World, agent: Agent, headers?: Record<string, string>) => Promise<unknown>;

const connect = (baseUrl: string): Transport => createConnectTransport({ baseUrl, httpVersion: "1.1" });

export const PAID_CALLS: Readonly<Record<string, PaidCall>> = {
  http: (world, agent, headers) => world.post(agent, "/v1/mcp/tools/call", CALL, headers),
  mcp: (world, agent, headers = {}) => {
    const { tool: name, params } = CALL;
    const call = { name, arguments: params, _meta: headers };
    return world.post(agent, "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: call });
  },
  connect: ({ gateway }, { apiKey }, headers = {}) =>
    createClient(ToolService, connect(gateway.baseUrl)).callTool(CALL, {
      headers: { ...headers, authorization: `Bearer ${apiKey}` },
    }),
  async grpc({ gateway }, { apiKey }, headers = {}) {
    const client = grpcClient(gateway.grpcAddress);
    const metadata = { ...headers, authorization: `Bearer ${apiKey}` };
    return callGrpc(client, callTool, CALL, { metadata }).finally(() => client.close());
  },
  openai: (world, agent, headers) => world.post(agent, "/openai/v1/chat/completions", CHAT, headers),
};

export interface PaidWorld extends World {
  readonly model: ModelServer;
}

const TERMS = {
  input_usd_per_million: 0.2,
  output_usd_per_million: 0.6,
  context_length: 1_000,
  max_output_tokens: 100,
};

const EMBEDDER = { id: EMBED.params.model, input_usd_per_million: 2, context_length: 100, dimensions: 2 };
const EMBEDDED = {
  data: [{ index: 0, embedding: [0.5, 0.25] }],
  usage: { prompt_tokens: 3, total_tokens: 3 },
};

/** Starts a world that sells {@link CALL}, {@link CHAT} and {@link EMBED}. @param tools custom tools */
export async function startPaidWorld(
  settings: Record<string, string>,
  log: Log,
  tools: readonly object[] = [],
): Promise<PaidWorld> {
  const folder = await mkdtemp(path.join(os.tmpdir(), "toolgate-paid-"));
  const model = await modelServer((response, { url }) =>
    json(response, 200, url === "/v1/embeddings" ? EMBEDDED : COMPLETION),
  );
  const file = path.join(folder, "config.json");
  const upstreams = [{ name: "main", models: [{ id: CHAT.model, ...TERMS }], embedding_models: [EMBEDDER] }];
  await writeFile(file, JSON.stringify({ inference: { upstreams }, tools }));
  const configured = { TOOLGATE_CONFIG: file, INFERENCE_BASE_URL: model.baseUrl };
  const world = await startWorld({ ...configured, ...settings }, SLOT_MS, log);
  return {
    ...world,
    model,
    async close() {
      await world.close();
      await model[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
