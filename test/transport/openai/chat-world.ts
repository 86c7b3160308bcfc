import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import OpenAI from "openai";
import { afterAll, beforeEach } from "vitest";
import { type ModelServer } from "../../inference/model-server.ts";
import { useWorld } from "../../support/use-world.ts";
import type { Agent } from "../../support/world.ts";
import { chatUpstream, MODELS } from "./chat-upstream.ts";
import { MESSAGES_MODELS } from "../anthropic/messages-upstream.ts";
import { EMBEDDING_MODELS } from "./embedding-upstream.ts";
import { RESPONSES_MODELS } from "../responses/responses-upstream.ts";

export const BALANCE = 1_000_000n;
const TERMS = {
  input_usd_per_million: 0.2,
  output_usd_per_million: 0.6,
  context_length: 100_000,
  max_output_tokens: 500,
};
const MORE_TERMS: Readonly<Record<string, object>> = {
  sees: { image_tokens: 100 },
  fetches: { image_tokens: 100 },
  floods: { image_tokens: 1_000, max_output_tokens: 90_000 },
  open: { image_tokens: 100 },
  "claude-writes": { cache_write_usd_per_million: 0.25, cache_write_1h_usd_per_million: 0.4 },
  "claude-writes-all": { cache_write_usd_per_million: 1_000 },
  once: { requests_per_minute: 1 },
  "waits-for-a-second": { concurrency: 1 },
};
/** Of models of Messages servers. */
const MESSAGES_TERMS = { cached_input_usd_per_million: 0.02, image_tokens: 100 };
export const KEY = "sk-upstream-0123456789abcdef";
export const messages = [{ role: "user" as const, content: "2+2?" }];
/** 11 tokens at 0.2 and 2 at 0.6, as counted: 3.4, rounded up. */
export const COUNTED = 4;
/** (64 + 8 + 4) * 0.2 + 500 * 0.6. */
export const QUOTED = 316;
/** Not counted: 5 tokens at 0.2 for the prompt and one at 0.6 for the text. */
export const TWO_BYTES = 2;
/** The same, cut: at least one token of a prompt. */
export const TWO_BYTES_CUT = 1;

type Body = Record<string, unknown>;

export const textOf = (chunks: readonly OpenAI.ChatCompletionChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("");

/** The world of a file: a gateway that sells the models of an upstream, and an agent for each test. */
export function useChatWorld() {
  const folder = mkdtempSync(path.join(os.tmpdir(), "toolgate-openai-"));
  let upstream: ModelServer;
  const world = useWorld(async () => {
    upstream = await chatUpstream(KEY);
    // One upstream each, as the failures of one close it for a while.
    const upstreams = MODELS.map((id) => ({
      name: id,
      api_key_env: "TOOL_FIRST_KEY",
      // A busy machine stops for longer than what a stall is.
      stall_timeout_ms: id === "floods" ? 60_000 : 300,
      first_piece_timeout_ms: id === "stays" ? 60_000 : 300,
      ...(id === "open" && { unknown_members: "pass" }),
      ...(id === "fetches" && { unknown_members: "pass", image_urls: "pass" }),
      models: [{ id, ...TERMS, ...MORE_TERMS[id] }],
    }));
    // Serves two of the models where their first server is busy, or breaks off.
    const second = {
      name: "second",
      models: ["shared", "shared-dies"].map((id) => ({ id, upstream_model: "good", ...TERMS })),
    };
    const embedders = EMBEDDING_MODELS.map((id) => ({
      name: id,
      models: [{ id: `chat-${id}`, ...TERMS }],
      embedding_models: [{ id, input_usd_per_million: 2, context_length: 100, dimensions: 3 }],
    }));
    const messages = MESSAGES_MODELS.map((models, at) => ({
      name: `messages-${at}`,
      ...(models.some((id) => id.includes("stalls")) && {
        stall_timeout_ms: 300,
        first_piece_timeout_ms: 300,
      }),
      api: "messages",
      api_key_env: "TOOL_FIRST_KEY",
      models: models.map((id) => ({ id, ...TERMS, ...MESSAGES_TERMS, ...MORE_TERMS[id] })),
    }));
    const responders = RESPONSES_MODELS.map((models, at) => ({
      name: `responses-${at}`,
      api: "responses",
      api_key_env: "TOOL_FIRST_KEY",
      models: models.map((model) => ({ ...model, ...TERMS, image_tokens: 100 })),
    }));
    const all = [...upstreams, second, ...embedders, ...messages, ...responders];
    const file = path.join(folder, "config.json");
    writeFileSync(file, JSON.stringify({ inference: { upstreams: all } }));
    return {
      TOOLGATE_CONFIG: file,
      INFERENCE_BASE_URL: upstream.baseUrl,
      TOOL_FIRST_KEY: KEY,
      GASLESS_MINIMUM_MICROUSD: "1",
    };
  });
  let agent: Agent;
  let client: OpenAI;
  afterAll(async () => {
    await upstream[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    agent = await world.agent({ balance: BALANCE });
    client = openAi(agent);
  });

  function openAi({ apiKey }: Agent, options: object = {}): OpenAI {
    return new OpenAI({ baseURL: `${world.gateway.baseUrl}/openai/v1`, apiKey, maxRetries: 0, ...options });
  }

  async function post(body: Body, who: Agent | undefined = agent, headers: Record<string, string> = {}) {
    const {
      status,
      body: json,
      headers: received,
    } = await world.post(who, "/openai/v1/chat/completions", body, headers);
    return { status, json, headers: received };
  }

  async function streamed(model: string, more: Body = {}, headers: Record<string, string> = {}) {
    const body = { model, messages, stream: true as const, ...more };
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of await client.chat.completions.create(body, { headers })) chunks.push(chunk);
    return chunks;
  }

  async function receipts(): Promise<Body[]> {
    return (await world.get(agent, "/receipts")).body.items;
  }

  async function lastRun(): Promise<Body> {
    return (await world.get(agent, "/runs")).body.items[0];
  }
  return {
    world,
    openAi,
    post,
    streamed,
    receipts,
    lastRun,
    get upstream() {
      return upstream;
    },
    get agent() {
      return agent;
    },
    get client() {
      return client;
    },
  };
}
