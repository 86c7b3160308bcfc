import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { inferenceSchema } from "../../src/inference/config.ts";
import { UpstreamModels } from "../../src/inference/upstream-models.ts";
import { exitOf, firstLine, stopChild } from "../support/child.ts";
import { SHOP } from "../inference/upstream-settings.ts";
import { resolveUpstreams } from "../../src/inference/upstream-settings.ts";

const MAIN = fileURLToPath(new URL("../../src/dev/inference-stand-in/main.ts", import.meta.url));
const ready = z.strictObject({ url: z.url() });
const running: ChildProcessWithoutNullStreams[] = [];

/** Starts the stand-in and waits for its line. */
async function start(...args: string[]): Promise<{ child: ChildProcessWithoutNullStreams; url: string }> {
  const child = spawn(process.execPath, [MAIN, ...args]);
  running.push(child);
  return { child, url: ready.parse(JSON.parse(await firstLine(child))).url };
}

afterEach(() => Promise.all(running.splice(0).map((child) => stopChild(child, "SIGKILL"))));

describe("the inference stand-in", () => {
  it("sells its model through the gateway's client, says that it is no model, and counts tokens", async () => {
    const { url } = await start("0");
    const { upstreams } = resolveUpstreams(inferenceSchema.parse(undefined), { INFERENCE_BASE_URL: url });
    const signal = AbortSignal.timeout(300_000);
    const shop = await UpstreamModels.open(upstreams, SHOP);
    expect(shop.models.map(({ id, contextLength }) => [id, contextLength])).toEqual([
      ["local-stand-in", 8_192],
    ]);

    const request = {
      model: "local-stand-in",
      messages: [{ role: "user" as const, content: "What is 2+2?" }],
      maxTokens: 100,
      temperature: undefined,
    };
    const answer = await shop.complete(request, { signal, accountId: "acct_1", idempotencyKey: undefined });
    expect(answer.content).toContain("local stand-in, not a language model");
    expect(answer.content).toContain("What is 2+2?");
    expect(answer).toMatchObject({ finishReason: "stop", usage: { promptTokens: 3 } });

    const short = await shop.complete(
      { ...request, maxTokens: 2 },
      { signal, accountId: "acct_1", idempotencyKey: undefined },
    );
    expect(short).toMatchObject({
      finishReason: "length",
      usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 },
    });
    await shop.close();
  });

  it("answers in chunks or whole, with the same words and counts", async () => {
    const { url } = await start();
    const body = { model: "local-stand-in", messages: [{ role: "user", content: "hi" }], max_tokens: 3 };
    const post = async (more: object) =>
      (
        await fetch(`${url}/chat/completions`, { method: "POST", body: JSON.stringify({ ...body, ...more }) })
      ).text();
    const chunk = z.object({
      choices: z.array(
        z.object({ delta: z.object({ content: z.string().default("") }), finish_reason: z.unknown() }),
      ),
      usage: z.unknown().optional(),
    });
    const whole = z
      .object({
        choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
        usage: z.unknown(),
      })
      .parse(JSON.parse(await post({ stream: false })));
    const lines = (await post({ stream: true, stream_options: { include_usage: true } }))
      .trim()
      .split("\n\n");
    expect(lines.pop()).toBe("data: [DONE]");
    const chunks = lines.map((line) => chunk.parse(JSON.parse(line.replace(/^data: /, ""))));
    const said = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content));
    expect(said.join("")).toBe(whole.choices[0].message.content);
    expect(said.length).toBeGreaterThan(3);
    expect(chunks.at(-1)).toEqual({ choices: [], usage: whole.usage });
    expect(await post({ stream: true })).not.toContain("usage");
  });

  it.each([
    [
      "another model",
      { model: "gpt-9", messages: [{ role: "user", content: "x" }] },
      404,
      "there is only local-stand-in",
    ],
    ["no messages", { model: "local-stand-in" }, 400, "messages"],
  ])("refuses %s in the protocol's error format", async (_what, body, status, words) => {
    const { url } = await start();
    const response = await fetch(`${url}/chat/completions`, { method: "POST", body: JSON.stringify(body) });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining(words), type: "invalid_request_error" },
    });
  });

  it("refuses a body that is not JSON, and unknown paths", async () => {
    const { url } = await start();
    expect((await fetch(`${url}/chat/completions`, { method: "POST", body: "{" })).status).toBe(400);
    expect((await fetch(`${url}/embeddings`, { method: "POST", body: "{}" })).status).toBe(404);
  });

  it("ends when its standard input closes", async () => {
    const { child } = await start();
    child.stdin.end();
    expect(await exitOf(child)).toEqual([0, null]);
  });

  it("ends on SIGTERM during a request", async () => {
    const { child, url } = await start();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.on("error", () => {});
    await once(socket, "connect");
    socket.write("POST /v1/chat/completions HTTP/1.1\r\nHost: local\r\nContent-Length: 100\r\n\r\n{");
    await fetch(`${url}/models`);
    child.kill("SIGTERM");
    expect(await exitOf(child)).toEqual([0, null]);
    socket.destroy();
  });

  it("prints its usage for an invalid port", async () => {
    const child = spawn(process.execPath, [MAIN, "http"]);
    running.push(child);
    expect(await exitOf(child)).toEqual([2, null]);
  });
});
