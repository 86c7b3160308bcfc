import { describe, expect, it, vi } from "vitest";
import type { ChatRequest } from "../../src/domain/tools/chat.ts";
import { ToolgateError } from "../../src/domain/core/errors.ts";
import { Upstream } from "../../src/inference/upstream.ts";
import { COMPLETION, json, modelServer } from "./model-server.ts";
import { settingsFor } from "./upstream-settings.ts";

const request: ChatRequest = {
  model: "m1",
  messages: [{ role: "user", content: "2+2?" }],
  maxTokens: 50,
  temperature: 0.5,
};
const options = { signal: new AbortController().signal, accountId: "acct_1", idempotencyKey: "run_1" };

async function failureOf(
  answer: Parameters<typeof modelServer>[0],
  timeoutMs = 5_000,
): Promise<ToolgateError> {
  await using server = await modelServer(answer);
  return await failure(new Upstream(settingsFor(server.baseUrl, { timeoutMs })).complete(request, options));
}

async function failure(completion: Promise<unknown>): Promise<ToolgateError> {
  const error: unknown = await completion.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ToolgateError) return error;
  throw new Error("no ToolgateError", { cause: error });
}

describe("a working model server", () => {
  it("sends the conversation and reads the answer", async () => {
    await using server = await modelServer((response) => json(response, 200, COMPLETION));
    await expect(new Upstream(settingsFor(server.baseUrl)).complete(request, options)).resolves.toMatchObject(
      {
        content: "Four.",
        finishReason: "stop",
        usage: { promptTokens: 11, completionTokens: 2, totalTokens: 13 },
      },
    );
    const [received] = server.received;
    expect(received).toMatchObject({ method: "POST", url: "/v1/chat/completions" });
    expect(JSON.parse(received?.body ?? "")).toEqual({
      model: "m1",
      messages: [{ role: "user", content: "2+2?" }],
      max_tokens: 50,
      temperature: 0.5,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(received?.headers).toMatchObject({
      authorization: "Bearer secret-key",
      "idempotency-key": "run_1",
    });
  });

  it("sends nothing that describes this machine", async () => {
    await using server = await modelServer((response) => json(response, 200, COMPLETION));
    await new Upstream(settingsFor(server.baseUrl)).complete(request, options);
    expect(
      Object.keys(server.received[0]?.headers ?? {}).filter((name) => name.startsWith("x-stainless")),
    ).toEqual([]);
  });

  it("sends only the upstream's key and headers, whatever the environment sets for the client library", async () => {
    vi.stubEnv("OPENAI_ADMIN_KEY", "sk-admin-of-another-server");
    vi.stubEnv("OPENAI_API_KEY", "sk-of-another-server");
    vi.stubEnv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer custom\nX-Other: x");
    try {
      await using server = await modelServer((response) => json(response, 200, COMPLETION));
      await new Upstream(settingsFor(server.baseUrl)).complete(request, options);
      await new Upstream(settingsFor(server.baseUrl, { apiKey: undefined })).complete(request, options);
      const headers = { AUTHORIZATION: "Token t", "X-Title": "a shop" };
      await new Upstream(settingsFor(server.baseUrl, { headers })).complete(request, options);
      expect(server.received.map(({ headers: { authorization } }) => authorization)).toEqual([
        "Bearer secret-key",
        "Bearer none",
        "Token t",
      ]);
      expect(server.received.map(({ headers: sent }) => [sent["x-title"], sent["x-other"]])).toEqual([
        [undefined, undefined],
        [undefined, undefined],
        ["a shop", undefined],
      ]);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it("omits temperature and idempotency key if not set", async () => {
    await using server = await modelServer((response) => json(response, 200, COMPLETION));
    await new Upstream(settingsFor(server.baseUrl)).complete(
      { ...request, temperature: undefined },
      { ...options, accountId: "acct_1", idempotencyKey: undefined },
    );
    expect(JSON.parse(server.received[0]?.body ?? "")).not.toHaveProperty("temperature");
    expect(server.received[0]?.headers).not.toHaveProperty("idempotency-key");
  });

  it("accepts answers without usage and finish reason", async () => {
    await using server = await modelServer((response) =>
      json(response, 200, { choices: [{ message: { content: "x" } }] }),
    );
    await expect(new Upstream(settingsFor(server.baseUrl)).complete(request, options)).resolves.toMatchObject(
      {
        content: "x",
        finishReason: null,
        usage: null,
      },
    );
  });
});

describe("a failing model server", () => {
  it.each([
    [500, "TOOL_FAILED", "the model server failed (HTTP 500)"],
    [502, "TOOL_FAILED", "the model server failed (HTTP 502)"],
    [504, "TOOL_FAILED", "the model server failed (HTTP 504)"],
    [404, "TOOL_FAILED", "the model server failed (HTTP 404)"],
    [408, "TOOL_FAILED", "the model server failed (HTTP 408)"],
    [409, "TOOL_FAILED", "the model server failed (HTTP 409)"],
    [401, "TOOL_FAILED", "the model server refused the operator's credentials"],
    [403, "TOOL_FAILED", "the model server refused the operator's credentials"],
    [400, "TOOL_FAILED", "the model server refused the request (HTTP 400)"],
    [422, "TOOL_FAILED", "the model server refused the request (HTTP 422)"],
    [429, "UNAVAILABLE", "the model server is busy"],
    [503, "UNAVAILABLE", "the model server is busy"],
  ])(
    "reports HTTP %d as %s after one request, without the server's own words",
    async (status, code, words) => {
      await using server = await modelServer((response) =>
        json(response, status, { error: { message: "internal-host-17 secret-key" } }),
      );
      const error = await failure(new Upstream(settingsFor(server.baseUrl)).complete(request, options));
      expect(error).toMatchObject({ code });
      expect(error.message).toContain(`inference: ${words}`);
      expect(error.message).toContain("nothing was charged");
      expect(error.message).not.toMatch(/secret-key|internal-host|127\.0\.0\.1/);
      expect(server.received).toHaveLength(1);
    },
  );

  it.each([
    ["7", 7],
    ["0", 1],
    ["86400", 300],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 1],
    ["-1", 5],
  ])("converts Retry-After: %s to a wait of %d seconds", async (retryAfter, seconds) => {
    const error = await failureOf((response) => json(response, 429, {}, { "Retry-After": retryAfter }));
    expect(error).toMatchObject({ code: "UNAVAILABLE", status: 429, retryAfterSeconds: seconds });
  });

  it.each([
    ["no JSON", "{not json"],
    ["half of it", JSON.stringify(COMPLETION).slice(0, 60)],
    ["nothing", ""],
    ["null", "null"],
    ["an array", "[]"],
    ["choices that are no list", '{"choices":{}}'],
  ])("reports %s as unreadable", async (_what, body) => {
    const error = await failureOf((response) =>
      response.writeHead(200, { "Content-Type": "application/json" }).end(body),
    );
    expect(error).toMatchObject({
      code: "TOOL_FAILED",
      message: "inference: the model server's answer could not be read; nothing was charged",
    });
  });

  it.each([200, 500])("times out when the server trickles an answer with HTTP %d", async (status) => {
    const error = await failureOf((response) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      const trickle = setInterval(() => response.write(" "), 20);
      response.once("close", () => clearInterval(trickle));
    }, 150);
    expect(error).toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("did not answer within 0.15 s"),
    });
  });

  it("reports a broken connection when the server closes without an answer", async () => {
    const error = await failureOf((response) => response.destroy());
    expect(error).toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("connection to the model server broke"),
    });
  });

  it("keeps the cause for the log", async () => {
    const error = await failureOf((response) =>
      json(response, 500, { error: { message: "CUDA out of memory" } }),
    );
    expect(String(error.cause)).toContain("CUDA out of memory");
  });

  it("returns UNAVAILABLE when the gateway shuts down", async () => {
    const stopping = new AbortController();
    await using server = await modelServer(() => stopping.abort());
    const error = await failure(
      new Upstream(settingsFor(server.baseUrl)).complete(request, { ...options, signal: stopping.signal }),
    );
    expect(error).toMatchObject({ code: "UNAVAILABLE", message: expect.stringContaining("shutting down") });
  });
});
