import { describe, expect, it } from "vitest";
import { ModelServerError } from "../../src/inference/upstream-failure.ts";
import { Upstream } from "../../src/inference/upstream.ts";
import { retryAfterOf } from "../../src/outbound/retry-after.ts";
import { json, modelServer } from "./model-server.ts";
import { settingsFor } from "./upstream-settings.ts";

async function failure(status: number, body: unknown, headers: Record<string, string> = {}) {
  await using server = await modelServer((response) =>
    typeof body === "string" ? response.writeHead(status).end(body) : json(response, status, body, headers),
  );
  const request = { model: "m", messages: [], maxTokens: 5, temperature: undefined };
  const options = { signal: new AbortController().signal, accountId: "acct_1", idempotencyKey: undefined };
  const upstream = new Upstream(settingsFor(server.baseUrl));
  const error: unknown = await upstream.complete(request, options).catch((reason: unknown) => reason);
  await upstream.close();
  if (error instanceof ModelServerError) return error;
  throw new Error("no ModelServerError", { cause: error });
}

const LONG = "This model's maximum context length is 8192 tokens, but you sent 9000";

describe("a request that the model server refuses", () => {
  it.each<[server: string, status: number, body: unknown, refusal: object, words: string, answered?: number]>(
    [
      [
        "OpenAI",
        400,
        {
          error: {
            message: LONG,
            type: "invalid_request_error",
            param: "messages",
            code: "context_length_exceeded",
          },
        },
        { type: "invalid_request_error", param: "messages", code: "context_length_exceeded" },
        LONG,
      ],
      [
        "vLLM",
        400,
        { object: "error", message: LONG, type: "BadRequestError", param: null, code: 400 },
        { type: "BadRequestError", code: "context_length_exceeded" },
        LONG,
      ],
      [
        "llama.cpp",
        400,
        {
          error: {
            code: 400,
            message: "the request exceeds the available size",
            type: "exceed_context_size_error",
          },
        },
        { type: "exceed_context_size_error", code: "context_length_exceeded" },
        "the request exceeds the available size",
      ],
      [
        "TGI",
        422,
        { error: "Input validation error", error_type: "validation" },
        {},
        "Input validation error",
        422,
      ],
      [
        "FastAPI",
        422,
        { detail: [{ loc: ["body", "x"], msg: "Field required" }] },
        {},
        "Field required",
        422,
      ],
      [
        "Ollama",
        400,
        { error: { message: "bad", type: "invalid_request_error", param: null } },
        { type: "invalid_request_error" },
        "bad",
      ],
      ["a proxy", 413, "Too large", {}, "Too large", 413],
      ["a proxy with a page", 400, "<html>inside</html>", {}, "it may be too long"],
      [
        "one with odd members",
        400,
        { error: { message: ["a", "b"], code: "http://inside", param: {} } },
        {},
        "a; b",
      ],
      [
        "one that names places",
        400,
        { error: { message: "ask http://inside:80/x or 10.0.0.7:80" } },
        {},
        "ask … or …",
      ],
      ["one that names its key", 400, { error: { message: "x", code: "secret-key" } }, {}, "x"],
      ["one that says its key", 400, { error: { message: "the key secret-key" } }, {}, "it may be too long"],
    ],
  )("is 4xx with what it says: %s", async (_, status, body, refusal, words, answered = 400) => {
    const error = await failure(status, body);
    expect(error).toMatchObject({ code: "TOOL_FAILED", status: answered, verdict: "served", worked: true });
    expect([error.rpc, error.refusal]).toEqual(["INVALID_ARGUMENT", refusal]);
    expect(error.message).toContain(`the model server refused the request (HTTP ${status}): ${words}`);
    expect(error.message).toContain("nothing was charged");
  });

  it.each([[401], [402], [403], [404], [408], [409], [500], [502]])(
    "is 5xx where others are at fault: HTTP %d",
    async (status) => {
      expect(await failure(status, { error: { message: LONG } })).toMatchObject({
        status: 500,
        refusal: undefined,
      });
    },
  );

  it("is 4xx when an answer of 200 says so before any text", async () => {
    const error = { message: "flagged", code: 403, type: "moderation" };
    expect(await failure(200, { error })).toMatchObject({ status: 400, refusal: { type: "moderation" } });
    expect(await failure(200, { error: { code: 502 } })).toMatchObject({ status: 500 });
    const plain = { object: "error", message: LONG, type: "BadRequestError", param: null, code: 400 };
    const refusal = { code: "context_length_exceeded", type: "BadRequestError" };
    expect(await failure(200, plain)).toMatchObject({ status: 400, refusal });
  });

  it("keeps Retry-After, also as a date", async () => {
    expect(await failure(429, {}, { "Retry-After": "7" })).toMatchObject({
      code: "UNAVAILABLE",
      status: 429,
      rpc: "UNAVAILABLE",
      retryAfterSeconds: 7,
    });
    expect(await failure(503, {})).toMatchObject({ code: "UNAVAILABLE", status: 503, retryAfterSeconds: 5 });
    const headers = { Date: "Sun, 06 Nov 1994 08:49:00 GMT", "Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT" };
    expect(await failure(429, {}, headers)).toMatchObject({ retryAfterSeconds: 37 });
  });
});

describe("Retry-After", () => {
  const NOW = Date.UTC(1994, 10, 6, 8, 49, 37);
  it.each([
    ["120", 120],
    ["0", 1],
    ["100000", 300],
    ["Sun, 06 Nov 1994 08:50:07 GMT", 30],
    ["Sunday, 06-Nov-94 08:50:07 GMT", 30],
    ["Sun, 06 Nov 1994 08:00:00 GMT", 1],
    ["-5", undefined],
    ["1.5", undefined],
    ["soon", undefined],
    ["", undefined],
  ])("%s is read as %s", (text, seconds) => {
    expect(retryAfterOf(new Headers({ "Retry-After": text }), 300, NOW)).toBe(seconds);
  });
});
