import type { ServerResponse } from "node:http";
import OpenAI from "openai";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { json, modelServer } from "../inference/model-server.ts";
import { request, type Agent } from "../support/world.ts";
import { openGround } from "./calls.ts";
import { type Instance } from "./process.ts";

/** An instance that receives SIGTERM while it streams (docs/guides/pricing.md, "How a call ends"). */
const SHORT_MS = 1_000;
const LONG_MS = 20_000;
const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };

const { ground, instances } = await openGround();
/** Answers of the model that have started. */
const open: ServerResponse[] = [];
const model = await modelServer((response, { url }) => {
  if (url?.endsWith("/models")) return json(response, 200, { object: "list", data: [{ id: "m" }] });
  response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
  open.push(response);
});
afterAll(() => model[Symbol.asyncDispose]());
const settings = (graceMs: number) => ({
  ...ground.settings,
  INFERENCE_BASE_URL: model.baseUrl,
  SHUTDOWN_GRACE_MS: String(graceMs),
});
const survivor = await instances.serve(settings(LONG_MS));
let stopping: Instance;
let agent: Agent;

beforeEach(async () => {
  open.length = 0;
  agent = await ground.agent({ balance: 1_000_000n });
});

const says = (delta: object, more: object = {}) =>
  open[0]?.write(
    `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason: null }], ...more })}\n\n`,
  );

interface Streamed {
  readonly chunks: OpenAI.ChatCompletionChunk[];
  /** With which it ended, after text. */
  readonly error?: InstanceType<typeof OpenAI.APIError>;
}

/** The chunks of a stream; with text, SIGTERM is sent after the first one. */
async function streamFrom({ baseUrl }: Instance, first = () => {}): Promise<Streamed> {
  const client = new OpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: agent.apiKey, maxRetries: 0 });
  const stream = await client.chat.completions.create(
    { model: "m", messages: [{ role: "user", content: "Go" }], stream: true },
    { headers: { "Idempotency-Key": "k" } },
  );
  const chunks: OpenAI.ChatCompletionChunk[] = [];
  try {
    for await (const chunk of stream) {
      if (chunks.length === 0) first();
      chunks.push(chunk);
    }
  } catch (error) {
    if (chunks.length > 0 && error instanceof OpenAI.APIError) return { chunks, error };
    throw error;
  }
  return { chunks };
}

/** Starts a stream at a new instance, and waits until the model was asked. */
async function startStream(graceMs: number): Promise<{ chunks: Promise<Streamed> }> {
  stopping = await instances.serve(settings(graceMs));
  const chunks = streamFrom(stopping, () => stopping.signal("SIGTERM"));
  chunks.catch(() => {});
  await expect.poll(() => open.length).toBe(1);
  return { chunks };
}

const lastOf = ({ chunks, error }: Streamed) => ({
  text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
  finish: error?.code ?? chunks.at(-1)?.choices[0]?.finish_reason,
  message: error?.message,
});

const itemsOf = async (path: string) => (await request(survivor, agent, path, { method: "GET" })).body.items;

describe("SIGTERM in mid-stream", () => {
  it("lets a stream end within the grace period", async () => {
    const { chunks } = await startStream(LONG_MS);
    says({ content: "Fo" });
    await expect.poll(() => stopping.log()).toContain("stopping");
    says({ content: "ur." });
    open[0]?.end("data: [DONE]\n\n");
    expect(lastOf(await chunks)).toMatchObject({ text: "Four.", finish: "stop" });
    expect(await stopping.ended).toBe(0);
    expect(await itemsOf("/receipts")).toHaveLength(1);
  });

  it("ends a longer stream with an error, charges its text, and replays it elsewhere", async () => {
    const { chunks } = await startStream(SHORT_MS);
    says({ content: "Fo" });
    const ended = lastOf(await chunks);
    expect(ended).toMatchObject({ text: "Fo", finish: "connection_lost" });
    expect(await stopping.ended).toBe(0);
    expect(lastOf(await streamFrom(survivor))).toEqual(ended);
    const [receipt, ...others] = await itemsOf("/receipts");
    expect(others).toEqual([]);
    expect(ended.message).toContain(receipt.receipt_id);
    expect(receipt.debited_usdc_microusd).toBeLessThan(receipt.quoted_usdc_microusd);
  });

  it("charges nothing before the first text, and a repeat runs again", async () => {
    const { chunks } = await startStream(SHORT_MS);
    stopping.signal("SIGTERM");
    await expect(chunks).rejects.toMatchObject({ status: 503, code: "UNAVAILABLE" });
    expect(await stopping.ended).toBe(0);
    expect([await itemsOf("/receipts"), await itemsOf("/runs")]).toMatchObject([[], [{ status: "failed" }]]);
    open.length = 0;
    const again = streamFrom(survivor);
    await expect.poll(() => open.length).toBe(1);
    says({ content: "Four." });
    open[0]?.end("data: [DONE]\n\n");
    expect(lastOf(await again)).toMatchObject({ text: "Four.", finish: "stop" });
    expect(await itemsOf("/receipts")).toHaveLength(1);
  });
});
