import { getEventListeners } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ChatCompletion, ReportedUsage } from "../../src/domain/tools/chat.ts";
import { ModelServerError } from "../../src/inference/upstream-failure.ts";
import type { UpstreamSettings } from "../../src/inference/upstream-settings.ts";
import { Upstream } from "../../src/inference/upstream.ts";
import { modelServer } from "./model-server.ts";
import { startOddServer, type OddServer } from "./odd-server/start.ts";
import { settingsFor } from "./upstream-settings.ts";

const KEY = "sk-or-v1-0123456789abcdef";
const USAGE = { promptTokens: 11, completionTokens: 2, totalTokens: 13 };
let server: OddServer;
beforeAll(async () => {
  server = await startOddServer();
});
afterAll(() => server.close());

async function ask(
  model: string,
  settings: Partial<UpstreamSettings> = {},
  signal = new AbortController().signal,
): Promise<ChatCompletion> {
  const upstream = new Upstream(settingsFor(server.baseUrl, { apiKey: KEY, ...settings }));
  const messages = [{ role: "user" as const, content: "2+2?" }];
  const { content, finishReason, usage } = await upstream.complete(
    { model, messages, maxTokens: 5, temperature: undefined },
    { signal, accountId: "acct_1", idempotencyKey: "run_1" },
  );
  return { content, finishReason, usage: usage && withoutMore(usage) };
}

function withoutMore({ more: _, ...counts }: ReportedUsage): ReportedUsage {
  return counts;
}

function resources(): number {
  return process.getActiveResourcesInfo().filter((name) => /TCP|Timeout/.test(name)).length;
}

async function failure(completion: Promise<ChatCompletion>): Promise<ModelServerError> {
  const error: unknown = await completion.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ModelServerError) return error;
  throw new Error("no ModelServerError", { cause: error });
}

describe("answers of a model server", () => {
  it.each([
    ["good"],
    ["plain"],
    ["plain-with-bom"],
    ["crlf"],
    ["cr"],
    ["bom"],
    ["bom-in-data"],
    ["comments"],
    ["data-in-lines"],
    ["no-space"],
    ["no-done"],
    ["stream-as-text"],
    ["stream-as-json"],
    ["stream-as-nothing"],
    ["plain-as-text"],
    ["open-after-done"],
  ])("reads an answer: %s", async (model) => {
    expect(await ask(model)).toEqual({ content: "Four.", finishReason: "stop", usage: USAGE });
  });

  it("stops reading at the end and closes the connection if the server does not", async () => {
    const { hungUp } = await server.seen();
    await ask("open-after-done");
    await expect.poll(async () => (await server.seen()).hungUp).toBeGreaterThan(hungUp);
  });

  it.each([
    ["no-last-line", "stop"],
    ["junk-after-reason", "stop"],
    ["junk-after-done", "stop"],
    ["more-after-reason", "stop"],
    ["two-choices", "stop"],
    ["message-in-stream", "stop"],
    ["array-content", "stop"],
    ["reasoning", "stop"],
    ["no-reason", null],
    ["odd-reason", null],
  ])("keeps a complete answer despite later or additional errors: %s", async (model, finishReason) => {
    expect(await ask(model)).toEqual({ content: "Four.", finishReason, usage: null });
  });

  it("keeps a complete answer that the server does not end", async () => {
    const answer = await ask("open-after-reason", { stallTimeoutMs: 300 });
    expect(answer).toEqual({ content: "Four.", finishReason: "stop", usage: null });
  });

  it("reads an answer regardless of its chunk boundaries", async () => {
    expect(await ask("in-bytes")).toEqual({ content: "Foür 😀.", finishReason: "stop", usage: USAGE });
    expect(await ask("surrogate-apart")).toMatchObject({ content: "😀" });
  });

  it("keeps NUL and replaces lone surrogates", async () => {
    expect(await ask("nul")).toMatchObject({ content: "a\u0000b" });
    expect(await ask("surrogate-lone")).toMatchObject({ content: "a\ufffd" });
  });

  it.each<[string, unknown, string, Partial<UpstreamSettings>?]>([
    ["reasoning-only", "", "stop"],
    ["tool-calls", "", "stop"],
    ["empty", "", "stop"],
    ["stall", "Fo", "timeout", { stallTimeoutMs: 300 }],
    ["dripping", expect.stringMatching(/^Foo+$/), "timeout", { timeoutMs: 5_000 }],
    ["too-long", "x".repeat(2 * 1024 * 1024), "length"],
    ["counted-then-cut", "Fo", "connection_lost"],
  ])("delivers a partial answer with its finish reason: %s", async (model, content, finishReason, limits) => {
    await expect(ask(model, limits)).resolves.toMatchObject({ content, finishReason });
  });

  it("withholds an answer that a time limit cuts inside the key", async () => {
    expect(await failure(ask("stalls-in-key", { stallTimeoutMs: 300 }))).toMatchObject({
      verdict: "unknown",
      worked: true,
    });
  });

  it.each(["refusal", "refusal-streamed"])("delivers a refusal in words: %s", async (model) => {
    expect(await ask(model)).toMatchObject({ content: "I cannot do that.", finishReason: "stop" });
  });

  it.each([
    ["usage-negative", { completionTokens: 2 }],
    ["usage-overflowing", { completionTokens: 2 }],
    ["usage-inconsistent", { promptTokens: 11, completionTokens: 88, totalTokens: 99, reasoningTokens: 86 }],
    ["usage-text", null],
  ])("uses the counts that are usable: %s", async (model, usage) => {
    expect(await ask(model)).toEqual({ content: "Four.", finishReason: "stop", usage });
  });

  it.each([
    ["usage-detailed", { promptTokens: 11, completionTokens: 2, cachedTokens: 8, reasoningTokens: 1 }],
    ["usage-reasoning-beside", { promptTokens: 11, completionTokens: 9, reasoningTokens: 7 }],
    ["usage-details-absurd", { promptTokens: 11, completionTokens: 2, cachedTokens: 11 }],
  ])("counts cached and reasoning tokens within the prompt and the answer: %s", async (model, usage) => {
    const totalTokens = usage.promptTokens + usage.completionTokens;
    expect((await ask(model)).usage).toEqual({ ...usage, totalTokens });
  });

  it("reports more tokens than requested as the server counted them", async () => {
    expect(await ask("more-than-asked")).toMatchObject({ usage: { completionTokens: 9_999_999 } });
  });

  it("requests streams or whole answers, either limit parameter, and the configured headers", async () => {
    await ask("good", { headers: { "X-Title": "a shop" }, limitParameter: "max_completion_tokens" });
    await ask("plain", { stream: false });
    const { asked } = await server.seen();
    const [good, plain] = asked.slice(-2);
    expect(good?.body).toMatchObject({
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 5,
    });
    expect(good?.body).not.toHaveProperty("max_tokens");
    expect(good?.headers).toMatchObject({ "x-title": "a shop", authorization: `Bearer ${KEY}` });
    expect(plain?.body).toMatchObject({ stream: false, max_tokens: 5 });
    expect(plain?.body).not.toHaveProperty("stream_options");
  });
});

describe("invalid answers", () => {
  it.each<[model: string, words: string, worked?: boolean]>([
    ["no-choices", "the model returned no text"],
    ["no-message", "the model returned no text"],
    ["done-only", "the model returned no text"],
    ["event-too-long", "the connection to the model server broke"],
    ["bomb", "the model server's answer is too long"],
    ["headers-too-long", "the connection to the model server broke"],
    ["html", "the model server's answer could not be read"],
    ["bad-json", "the model server's answer could not be read"],
    ["odd-chunk", "the model server's answer could not be read"],
    ["half-chunk", "the model server's answer could not be read"],
    ["ends-early", "the model server's answer broke off"],
    ["nothing", "the model server's answer broke off"],
    ["cut", "the connection to the model server broke"],
    ["error-in-200", "the model server failed while it answered", false],
    ["flagged", "the model server failed while it answered", false],
    ["flagged-in-stream", "the model server failed while it answered", false],
    ["error-in-stream", "the model server failed while it answered"],
    ["error-as-reason", "the model server failed while it answered"],
    ["echoes-key", "the model server's answer contains a secret"],
  ])("fails the tool without trying another server: %s", async (model, words, worked = true) => {
    const error = await failure(ask(model));
    expect(error).toMatchObject({ code: "TOOL_FAILED", canFailOver: false, worked });
    expect(error.message).toContain(`inference: ${words}`);
    expect(error.message).not.toMatch(/internal-host|127\.0\.0\.1|0123456789abcdef/);
  });

  it("closes the connection even if the server continues", async () => {
    const { hungUp } = await server.seen();
    await failure(ask("bad-json-open"));
    await expect.poll(async () => (await server.seen()).hungUp).toBeGreaterThan(hungUp);
  });

  it("stops waiting when the first chunk exceeds its time limit", async () => {
    const error = await failure(ask("headers-only", { firstPieceTimeoutMs: 150 }));
    expect(error).toMatchObject({ code: "TOOL_FAILED", verdict: "broken", canFailOver: false });
    expect(error.message).toContain(
      "the model server stopped before the first piece of its answer for 0.15 s",
    );
  });

  it.each(["silent", "kept-alive"])("waits until the time limit: %s", async (model) => {
    const error = await failure(ask(model, { timeoutMs: 250 }));
    expect(error).toMatchObject({ code: "TOOL_FAILED", canFailOver: false });
    expect(error.message).toContain("did not answer within 0.25 s");
  });

  it.each(["stall", "silent"])("aborts the request when the caller cancels: %s", async (model) => {
    const { hungUp } = await server.seen();
    const gone = new AbortController();
    const asking = failure(ask(model, {}, gone.signal));
    const before = await server.asked(model);
    await expect.poll(() => server.asked(model)).toBeGreaterThanOrEqual(Math.max(1, before));
    gone.abort();
    expect(await asking).toMatchObject({ code: "UNAVAILABLE", verdict: "unknown", canFailOver: false });
    await expect.poll(async () => (await server.seen()).hungUp).toBeGreaterThan(hungUp);
  });

  it("leaves no sockets or timers after two hundred cancelled calls", async () => {
    const upstream = new Upstream(settingsFor(server.baseUrl));
    const { hungUp } = await server.seen();
    const before = resources();
    const gone = new AbortController();
    const chat = { model: "stall", messages: [], maxTokens: 5, temperature: undefined };
    const options = { signal: gone.signal, accountId: "acct_1", idempotencyKey: undefined };
    const asking = Array.from({ length: 200 }, () => failure(upstream.complete(chat, options)));
    const reached = async () =>
      (await server.seen()).asked.filter(({ body }) => body.messages.length === 0).length;
    await expect.poll(reached).toBe(200);
    gone.abort();
    for (const error of await Promise.all(asking)) expect(error.code).toBe("UNAVAILABLE");
    await expect.poll(async () => (await server.seen()).hungUp).toBe(hungUp + 200);
    await expect.poll(() => resources() - before).toBeLessThanOrEqual(2);
    expect(getEventListeners(gone.signal, "abort")).toEqual([]);
    await upstream.close();
  });

  it("withholds an answer with a secret header, but not one with a placeholder key", async () => {
    const words = { apiKey: "key", headers: { "X-Key": "Bearer key." } };
    expect(await ask("echoes-key", words)).toMatchObject({ content: "The key is Bearer key." });
    const header = { apiKey: "key", headers: { "X-Key": "The key is Bearer key." } };
    expect(await failure(ask("echoes-key", header))).toMatchObject({ verdict: "unknown" });
  });
});

describe("failover", () => {
  it.each([
    ["busy", "UNAVAILABLE", "busy", 1],
    ["busy-long", "UNAVAILABLE", "busy", 300],
    ["overloaded", "UNAVAILABLE", "busy", 5],
    ["key-refused", "TOOL_FAILED", "broken", undefined],
    ["unknown", "TOOL_FAILED", "served", undefined],
  ])(
    "fails over if the server certainly computed nothing: %s",
    async (model, code, verdict, retryAfterSeconds) => {
      expect(await failure(ask(model))).toMatchObject({
        code,
        verdict,
        retryAfterSeconds,
        canFailOver: true,
        worked: false,
      });
    },
  );

  it.each([
    ["fails", "broken", 500, false],
    ["too-much", "served", 400, true],
  ])(
    "does not fail over if the server may have computed something: %s",
    async (model, verdict, status, worked) => {
      const expected = { code: "TOOL_FAILED", verdict, status, canFailOver: false, worked };
      expect(await failure(ask(model))).toMatchObject(expected);
    },
  );

  it("fails over when no server listens", async () => {
    const gone = await modelServer(() => {});
    await gone[Symbol.asyncDispose]();
    const error = await failure(ask("good", { baseUrl: gone.baseUrl }));
    expect(error).toMatchObject({
      code: "TOOL_FAILED",
      verdict: "unreachable",
      canFailOver: true,
      worked: false,
    });
    expect(error.message).toContain("the model server cannot be reached");
  });
});
