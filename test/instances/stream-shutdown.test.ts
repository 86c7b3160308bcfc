import type { ServerResponse } from "node:http";
import OpenAI from "openai";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { json, modelServer } from "../inference/model-server.ts";
import { request, type Agent } from "../support/world.ts";
import { openGround, type Target } from "./calls.ts";
import { type Instance } from "./process.ts";

/** An instance that receives SIGTERM while it streams (docs/guides/pricing.md, "How a call ends"). */
const SHORT_MS = 1_000;
const LONG_MS = 20_000;
const HEAD = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };

const { ground, instances, serveHere } = await openGround();
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
const survivor = await serveHere(settings(LONG_MS));
let stopping: Instance;
let agent: Agent;

beforeEach(async () => {
  open.length = 0;
  agent = await ground.agent({ balance: 1_000_000n });
});

const says = (delta: object, response = open[0]) =>
  response?.write(
    `data: ${JSON.stringify({ ...HEAD, choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`,
  );

interface Streamed {
  readonly chunks: OpenAI.ChatCompletionChunk[];
  /** With which it ended, after text. */
  readonly error?: InstanceType<typeof OpenAI.APIError>;
}

/** The chunks of a stream; with text, SIGTERM is sent after the first one. */
async function streamFrom({ baseUrl }: Target, by: Agent, first = () => {}): Promise<Streamed> {
  const client = new OpenAI({ baseURL: `${baseUrl}/openai/v1`, apiKey: by.apiKey, maxRetries: 0 });
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

/** Starts a stream at the stopping instance, and waits until the model was asked. */
async function startStream(
  by: Agent,
): Promise<{ chunks: Promise<Streamed>; response: ServerResponse | undefined }> {
  const asked = open.length;
  const chunks = streamFrom(stopping, by, () => stopping.signal("SIGTERM"));
  chunks.catch(() => {});
  await expect.poll(() => open.length).toBe(asked + 1);
  return { chunks, response: open.at(-1) };
}

const lastOf = ({ chunks, error }: Streamed) => ({
  text: chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
  finish: error?.code ?? chunks.at(-1)?.choices[0]?.finish_reason,
  message: error?.message,
});

const itemsOf = async (path: string, by = agent) =>
  (await request(survivor, by, path, { method: "GET" })).body.items;

describe("SIGTERM in mid-stream", () => {
  it("lets a stream end within the grace period", async () => {
    stopping = await instances.serve(settings(LONG_MS));
    const { chunks } = await startStream(agent);
    says({ content: "Fo" });
    await expect.poll(() => stopping.log()).toContain("stopping");
    says({ content: "ur." });
    open[0]?.end("data: [DONE]\n\n");
    expect(lastOf(await chunks)).toMatchObject({ text: "Four.", finish: "stop" });
    expect(await stopping.ended).toBe(0);
    expect(await itemsOf("/receipts")).toHaveLength(1);
  });

  it("ends longer streams: charges and replays text that was sent, and charges nothing before it", async () => {
    stopping = await instances.serve(settings(SHORT_MS));
    const silent = await ground.agent({ balance: 1_000_000n });
    const [unheard, heard] = [await startStream(silent), await startStream(agent)];
    says({ content: "Fo" }, heard.response);
    const ended = lastOf(await heard.chunks);
    expect(ended).toMatchObject({ text: "Fo", finish: "connection_lost" });
    await expect(unheard.chunks).rejects.toMatchObject({ status: 503, code: "UNAVAILABLE" });
    expect(await stopping.ended).toBe(0);

    expect(lastOf(await streamFrom(survivor, agent))).toEqual(ended);
    const [receipt, ...others] = await itemsOf("/receipts");
    expect(others).toEqual([]);
    expect(ended.message).toContain(receipt.receipt_id);
    expect(receipt.debited_usdc_microusd).toBeLessThan(receipt.quoted_usdc_microusd);

    const of = (path: string) => itemsOf(path, silent);
    expect([await of("/receipts"), await of("/runs")]).toMatchObject([[], [{ status: "failed" }]]);
    open.length = 0;
    const again = streamFrom(survivor, silent);
    await expect.poll(() => open.length).toBe(1);
    says({ content: "Four." });
    open[0]?.end("data: [DONE]\n\n");
    expect(lastOf(await again)).toMatchObject({ text: "Four.", finish: "stop" });
    expect(await of("/receipts")).toHaveLength(1);
  });
});
