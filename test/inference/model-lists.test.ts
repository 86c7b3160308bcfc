import { describe, expect, it } from "vitest";
import type { UpstreamSettings } from "../../src/inference/upstream-settings.ts";
import { offersOf } from "../../src/inference/model-routes.ts";
import { Upstream } from "../../src/inference/upstream.ts";
import { UpstreamModels } from "../../src/inference/upstream-models.ts";
import { COMPLETION, json, modelServer } from "./model-server.ts";
import { settingsFor, SHOP, TERMS } from "./upstream-settings.ts";

async function offersFor(answers: Record<string, unknown>, settings: Partial<UpstreamSettings>) {
  await using server = await modelServer((response, { url = "" }) =>
    json(response, answers[url] === undefined ? 404 : 200, answers[url] ?? {}),
  );
  const all = settingsFor(server.baseUrl, { models: undefined, ...settings });
  return offersOf(await new Upstream(all).list(new AbortController().signal), all);
}

describe("list of an OpenAI-compatible or vLLM server", () => {
  it("sells listed models on the default terms within their context length", async () => {
    const data = [
      { id: "a", object: "model" },
      { id: "b", max_model_len: 64 },
      { id: "c", max_model_len: null },
      { id: "d", max_model_len: "many" },
      { id: "" },
      "e",
      null,
    ];
    for (const kind of ["openai", "vllm"] as const)
      expect(await offersFor({ "/v1/models": { object: "list", data } }, { kind })).toEqual({
        models: [
          { id: "a", upstreamModel: "a", ...TERMS },
          { id: "b", upstreamModel: "b", ...TERMS, contextLength: 64, maxOutputTokens: 63 },
          { id: "c", upstreamModel: "c", ...TERMS },
          { id: "d", upstreamModel: "d", ...TERMS },
        ],
        belowCost: 0,
      });
  });

  it("skips model names with line breaks, invisible characters or lone surrogates", async () => {
    const good = ["org/Модель 7B:q4_K", "__proto__", "😀", '"><script>'];
    const bad = ["a\nb: context 9 tokens", "a\u2028b", "a\u0000", "\u202ea", "\u200b", "a\ud83d", "\u007f"];
    const { models } = await offersFor(
      { "/v1/models": { data: [...bad, ...good].map((id) => ({ id })) } },
      {},
    );
    expect(models.map(({ id }) => id)).toEqual(good);
  });

  it("skips model names that contain the operator's key", async () => {
    const apiKey = "sk-0123456789abcdef";
    const { models } = await offersFor(
      { "/v1/models": { data: [{ id: `for ${apiKey}` }, { id: "a" }] } },
      { apiKey },
    );
    expect(models.map(({ id }) => id)).toEqual(["a"]);
  });

  it.each([{}, { data: {} }, [], "models"])("rejects the list %j", async (body) => {
    await expect(offersFor({ "/v1/models": body }, {})).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("could not be read"),
    });
  });
});

describe("list of an Ollama server", () => {
  it("uses the loaded context length and skips models without completion", async () => {
    const shown: Record<string, unknown> = {
      "llama:8b": {
        model_info: { "general.architecture": "llama", "llama.context_length": 8_192 },
        parameters: 'num_keep 24\nnum_ctx                        400\nstop "x"',
        capabilities: ["completion", "tools"],
      },
      "tiny:1b": { model_info: { "tiny.context_length": 80 }, capabilities: ["completion"] },
      "large:70b": { model_info: { "large.context_length": 131_072 }, parameters: null },
      "embed:1": { model_info: { "bert.context_length": 512 }, capabilities: ["embedding"] },
      odd: [],
      refused: {},
    };
    await using server = await modelServer((response, { url, method }) => {
      const { body } = server.received.at(-1) ?? { body: "{}" };
      if (url === "/v1/models")
        return json(response, 200, { data: Object.keys(shown).map((id) => ({ id })) });
      if (url !== "/api/show" || method !== "POST") return json(response, 404, {});
      const asked: unknown = JSON.parse(body);
      const name = typeof asked === "object" && asked && "model" in asked ? String(asked.model) : "";
      return json(response, name === "refused" ? 500 : 200, shown[name]);
    });
    const settings = settingsFor(server.baseUrl, { kind: "ollama", models: undefined });
    const { models } = offersOf(await new Upstream(settings).list(new AbortController().signal), settings);
    expect(
      models.map(({ id, contextLength, maxOutputTokens }) => [id, contextLength, maxOutputTokens]),
    ).toEqual([
      ["llama:8b", 400, 100],
      ["tiny:1b", 80, 79],
      ["large:70b", 1_000, 100],
      ["odd", 1_000, 100],
      ["refused", 1_000, 100],
    ]);
  });
});

describe("list of OpenRouter", () => {
  const model = (id: string, prompt: unknown, completion: unknown, more: object = {}) => ({
    id,
    context_length: 32_768,
    top_provider: { context_length: 500, max_completion_tokens: 64 },
    pricing: { prompt, completion, request: "0" },
    ...more,
  });
  // TERMS: 0.2 and 0.6 USD per million.
  const data = [
    model("cheap", "0.0000001", "0.0000006"),
    model("free", "0", "0", { top_provider: null }),
    model("costly-prompt", "0.00000020000000001", "0.0000006"),
    model("costly-answer", "0.0000002", "0.000015"),
    model("by-router", "-1", "-1"),
    model("in-numbers", 0.1, 0.1),
    model("with-a-fee", "0.0000001", "0.0000001", {
      pricing: { prompt: "0", completion: "0", request: "0.01" },
    }),
    model("paints", "0", "0", { architecture: { output_modalities: ["image"] } }),
  ];

  it("applies the provider's limits and never sells below cost", async () => {
    const { models, belowCost } = await offersFor({ "/v1/models": { data } }, { kind: "openrouter" });
    expect(models).toEqual([
      {
        ...{ id: "cheap", upstreamModel: "cheap", ...TERMS, contextLength: 500, maxOutputTokens: 64 },
        cost: { inputRate: 100_000_000n, outputRate: 600_000_000n },
      },
      {
        ...{ id: "free", upstreamModel: "free", ...TERMS, contextLength: 32_768, maxOutputTokens: 100 },
        cost: { inputRate: 0n, outputRate: 0n },
      },
    ]);
    expect(belowCost).toBe(5);
  });

  it("skips models with absurd prices", async () => {
    const costly = [
      model("usd-999-a-token", "999", "0"),
      model("just-too-costly", "0", "1"),
      model("dearest", "0", "0.9"),
    ];
    const { models } = await offersFor(
      { "/v1/models": { data: costly } },
      { kind: "openrouter", markupPercent: 10 },
    );
    expect(models.map(({ id }) => id)).toEqual(["dearest"]);
  });

  it("applies the configured markup to its prices, rounded up", async () => {
    const { models } = await offersFor({ "/v1/models": { data } }, { kind: "openrouter", markupPercent: 10 });
    expect(models.map(({ id, inputRate, outputRate }) => [id, inputRate, outputRate])).toEqual([
      ["cheap", 110_000_000n, 660_000_000n],
      ["free", 0n, 0n],
      ["costly-prompt", 220_000_002n, 660_000_000n],
      ["costly-answer", 220_000_000n, 16_500_000_000n],
    ]);
  });
});

const signal = new AbortController().signal;
const request = {
  messages: [{ role: "user" as const, content: "hi" }],
  maxTokens: 5,
  temperature: undefined,
};

describe("models of all upstreams", () => {
  it("uses the tables without asking their servers", async () => {
    await using server = await modelServer((response) => json(response, 500, {}));
    const shop = await UpstreamModels.open([settingsFor(server.baseUrl)], SHOP);
    expect(shop.models).toEqual([{ id: "m1", ...TERMS }]);
    expect(server.received).toEqual([]);
  });

  it("calls the upstream that sells the model", async () => {
    await using one = await modelServer((response) => json(response, 200, COMPLETION));
    await using two = await modelServer((response) => json(response, 200, COMPLETION));
    const shop = await UpstreamModels.open(
      [
        settingsFor(one.baseUrl),
        settingsFor(two.baseUrl, {
          name: "other",
          apiKey: undefined,
          models: [{ id: "m2", upstreamModel: "m2", ...TERMS }],
        }),
      ],
      SHOP,
    );
    await shop.complete(
      { model: "m2", ...request },
      { signal, accountId: "acct_1", idempotencyKey: undefined },
    );
    expect([one.received.length, two.received.length]).toEqual([0, 1]);
    expect(two.received[0]?.headers.authorization).not.toContain("secret-key");
  });

  it("prefers the first upstream if two list the same model", async () => {
    const list = { data: [{ id: "a" }] };
    await using one = await modelServer((response, { method }) =>
      json(response, 200, method === "GET" ? list : COMPLETION),
    );
    await using two = await modelServer((response, { method }) =>
      json(response, 200, method === "GET" ? list : COMPLETION),
    );
    const upstreams = [
      settingsFor(one.baseUrl, { models: undefined }),
      settingsFor(two.baseUrl, { models: undefined }),
    ];
    const shop = await UpstreamModels.open(upstreams, SHOP);
    expect(shop.models).toHaveLength(1);
    await shop.complete(
      { model: "a", ...request },
      { signal, accountId: "acct_1", idempotencyKey: undefined },
    );
    expect([one.received.length, two.received.length]).toEqual([2, 1]);
  });

  it("routes a model to a server once even if listed twice", async () => {
    const list = { data: [{ id: "a" }, { id: "a", max_model_len: 50 }] };
    await using one = await modelServer((response, { method }) =>
      json(response, method === "GET" ? 200 : 404, method === "GET" ? list : {}),
    );
    const shop = await UpstreamModels.open([settingsFor(one.baseUrl, { models: undefined })], SHOP);
    expect(shop.models).toEqual([{ id: "a", ...TERMS }]);
    await expect(
      shop.complete({ model: "a", ...request }, { signal, accountId: "acct_1", idempotencyKey: undefined }),
    ).rejects.toMatchObject({ code: "TOOL_FAILED" });
    expect(one.received.map(({ method }) => method)).toEqual(["GET", "POST"]);
    await shop.close();
  });
});
