import { describe, expect, it } from "vitest";
import { aliasProblems } from "../../src/inference/aliases.ts";
import { inferenceSchema } from "../../src/inference/config.ts";
import { resolveUpstreams } from "../../src/inference/upstream-settings.ts";

const model = {
  id: "holo-8b",
  input_usd_per_million: 0.2,
  output_usd_per_million: "0.60",
  context_length: 32_768,
  max_output_tokens: 4_096,
};
const env = { INFERENCE_BASE_URL: "http://models.example/v1/", INFERENCE_API_KEY: "secret" };

describe("aliases of models", () => {
  const upstreams = [
    {
      name: "main",
      models: [model],
      embedding_models: [{ id: "e", input_usd_per_million: 1, context_length: 10, dimensions: 3 }],
    },
  ];
  const problems = (aliases: readonly object[], more: object = { upstreams }) =>
    aliasProblems(inferenceSchema.parse({ aliases, ...more }));

  it("may name models of a table, and any model while an upstream lists its own", () => {
    expect(problems([{ id: "fast", models: ["holo-8b"] }])).toEqual([]);
    expect(problems([{ id: "fast", models: ["any"] }], { upstreams: [{ name: "lists" }] })).toEqual([]);
    expect(problems([{ id: "fast", models: ["any"] }], {})).toEqual([]);
  });

  it.each([
    [
      [{ id: "a", models: ["no"] }],
      "aliases[0].models[0]: no is in no table of an upstream; there are holo-8b",
    ],
    [[{ id: "a", models: ["e"] }], "aliases[0].models[0]: e makes embeddings; name models that answer chats"],
    [[{ id: "holo-8b", models: ["holo-8b"] }], "aliases[0].id: a model has the same id; choose another"],
    [
      [{ id: "a", models: ["holo-8b", "holo-8b"] }],
      "aliases[0].models[1]: holo-8b is named twice; leave one out",
    ],
    [[{ id: "a", models: ["a"] }], "aliases[0].models[0]: a is an alias; name models"],
    [
      [
        { id: "a", models: ["holo-8b"] },
        { id: "a", models: ["holo-8b"] },
      ],
      "aliases[1].id: inference.aliases[0] has the same id; leave one out",
    ],
  ])("must name different chat models that exist: %j", (aliases, problem) => {
    expect(problems(aliases)).toEqual([`inference.${problem}`]);
  });
});

describe("inference section of the configuration", () => {
  it("reads a table of models with exact prices", () => {
    const section = inferenceSchema.parse({ upstreams: [{ name: "main", models: [model] }] });
    const { upstreams, problems } = resolveUpstreams(section, env);
    expect(problems).toEqual([]);
    expect(upstreams).toMatchObject([
      { name: "main", baseUrl: "http://models.example/v1", apiKey: "secret", timeoutMs: 600_000 },
    ]);
    expect(upstreams[0]?.models).toEqual([
      {
        id: "holo-8b",
        upstreamModel: "holo-8b",
        inputRate: 200_000_000n,
        outputRate: 600_000_000n,
        contextLength: 32_768,
        maxOutputTokens: 4_096,
        bytesPerToken: 1,
      },
    ]);
  });

  it("is off without settings and address", () => {
    expect(resolveUpstreams(inferenceSchema.parse(undefined), {})).toEqual({ upstreams: [], problems: [] });
  });

  it("uses the server at INFERENCE_BASE_URL on the default terms without a table", () => {
    const { upstreams } = resolveUpstreams(
      inferenceSchema.parse({ default_model: { output_usd_per_million: 2 } }),
      env,
    );
    expect(upstreams).toMatchObject([{ baseUrl: "http://models.example/v1", models: undefined }]);
    expect(upstreams[0]?.defaults).toEqual({
      inputRate: 500_000_000n,
      outputRate: 2_000_000_000n,
      contextLength: 8_192,
      maxOutputTokens: 1_024,
      bytesPerToken: 1,
    });
  });

  it("reads each upstream's address and key from the named variables", () => {
    const section = inferenceSchema.parse({
      upstreams: [
        { name: "a", base_url_env: "A_URL", api_key_env: "A_KEY", models: [model] },
        { name: "b", base_url: "https://b.example/v1", api_key_env: "B_KEY" },
      ],
    });
    const { upstreams } = resolveUpstreams(section, { A_URL: "https://a.example", A_KEY: "ka", B_KEY: "" });
    expect(upstreams).toMatchObject([
      { baseUrl: "https://a.example", apiKey: "ka" },
      { baseUrl: "https://b.example/v1", apiKey: undefined },
    ]);
  });

  it("reads an upstream's headers from the named variables, and its own model names", () => {
    const section = inferenceSchema.parse({
      upstreams: [
        {
          name: "a",
          kind: "vllm",
          headers_env: { "X-Title": "TITLE" },
          stream: false,
          limit_parameter: "max_completion_tokens",
          weight: 3,
          stall_timeout_ms: 9,
          models: [{ ...model, upstream_model: "h/holo" }],
        },
      ],
      refresh_seconds: 30,
    });
    const { upstreams, problems } = resolveUpstreams(section, { ...env, TITLE: "a shop" });
    expect(problems).toEqual([]);
    expect(upstreams).toMatchObject([
      {
        kind: "vllm",
        headers: { "X-Title": "a shop" },
        stream: false,
        limitParameter: "max_completion_tokens",
        weight: 3,
        stallTimeoutMs: 9,
        refreshMs: 30_000,
        models: [{ id: "holo-8b", upstreamModel: "h/holo" }],
      },
    ]);
    expect(resolveUpstreams(section, env).problems).toEqual([
      'inference.upstreams[0].headers_env["X-Title"]: the environment variable TITLE is not set',
    ]);
  });

  it("accepts one model on several servers with the same terms", () => {
    const tables = [
      { name: "a", models: [model] },
      { name: "b", models: [{ ...model, context_length: 8_192 }] },
    ];
    expect(resolveUpstreams(inferenceSchema.parse({ upstreams: tables }), env).problems).toEqual([]);
  });

  it.each([undefined, "", "models.example/v1", "ftp://models.example"])(
    "says which setting to fix for the address %j",
    (url) => {
      const { problems } = resolveUpstreams(inferenceSchema.parse({ upstreams: [{ name: "main" }] }), {
        INFERENCE_BASE_URL: url,
      });
      expect(problems).toEqual([
        "inference.upstreams[0]: has no address; set the environment variable INFERENCE_BASE_URL to " +
          "an http(s) URL, or base_url",
      ]);
    },
  );

  it.each([
    ["https://a.example/v1?key=query-secret", "k", ": the URL must not have a query or fragment"],
    ["https://a.example/v1#query-secret", "k", ": the URL must not have a query or fragment"],
    ["https://a.example/v1", "query-secret\nx", ".api_key_env: K must be printable ASCII"],
    ["https://a.example/v1", "query-secret\u00e9", ".api_key_env: K must be printable ASCII"],
  ])(
    "rejects values no header can carry without repeating them: %j with the key %j",
    (base_url, K, words) => {
      const section = inferenceSchema.parse({ upstreams: [{ name: "a", base_url, api_key_env: "K" }] });
      const { problems } = resolveUpstreams(section, { K });
      expect(problems).toEqual([expect.stringContaining(`inference.upstreams[0]${words}`)]);
      expect(problems[0]).not.toContain("query-secret");
    },
  );

  it("reports all problems at once, each with its path", () => {
    const noRoom = { ...model, id: "x", max_output_tokens: 32_768 };
    const section = inferenceSchema.parse({
      upstreams: [
        { name: "a", models: [model, noRoom] },
        { name: "b", models: [{ ...model, input_usd_per_million: 0.3 }] },
        {
          name: "c",
          base_url: "https://c.example",
          models: [model, model],
          headers_env: { "X-Key": "C_KEY" },
          markup_percent: 5,
        },
      ],
    });
    expect(resolveUpstreams(section, { C_KEY: "a\nb" }).problems).toEqual([
      "inference.upstreams[0].models[1].max_output_tokens: must be less than context_length, or no " +
        "prompt would fit",
      expect.stringMatching(/^inference\.upstreams\[0\]: has no address/),
      expect.stringMatching(/^inference\.upstreams\[1\]: has no address/),
      "inference.upstreams[2].markup_percent: is for kind openrouter without a table of models; leave it out",
      'inference.upstreams[2].headers_env["X-Key"]: C_KEY must be printable ASCII of at most 4096 characters',
      "inference.upstreams[1].models[0]: must have the prices and the bytes_per_token of " +
        "inference.upstreams[0].models[0], which has the same id",
      "inference.upstreams[2].models[1].id: inference.upstreams[2].models[0] has the same id; leave one out",
    ]);
  });

  it.each([
    ["cached_input", { cached_input_usd_per_million: 0.3 }, "at most input"],
    ["cache_write", { cache_write_usd_per_million: 0.1 }, "at least input"],
    [
      "cache_write_1h",
      { cache_write_usd_per_million: 0.5, cache_write_1h_usd_per_million: 0.4 },
      "at least cache_write",
    ],
  ])("rejects a price of %s that no quote covers: %j", (name, rates, words) => {
    const section = inferenceSchema.parse({ upstreams: [{ name: "a", models: [{ ...model, ...rates }] }] });
    const path = `inference.upstreams[0].models[0].${name}_usd_per_million`;
    expect(resolveUpstreams(section, env).problems).toEqual([`${path}: must be ${words}_usd_per_million`]);
  });

  it.each([
    [{ ...model, input_usd_per_million: "1e-3" }, "input_usd_per_million"],
    [{ ...model, input_usd_per_million: 1e-7 }, "input_usd_per_million"],
    [{ ...model, input_usd_per_million: -1 }, "input_usd_per_million"],
    [{ ...model, output_usd_per_million: "$5" }, "output_usd_per_million"],
    [{ ...model, output_usd_per_million: null }, "output_usd_per_million"],
    [{ ...model, context_length: 1.5 }, "context_length"],
    [{ ...model, max_output_tokens: 0 }, "max_output_tokens"],
    [{ ...model, bytes_per_token: 0 }, "bytes_per_token"],
    [{ ...model, id: "" }, "id"],
    [{ ...model, id: "a\nb: free" }, "id"],
    [{ ...model, id: "a\u202eb" }, "id"],
    [{ ...model, upstream_model: "a\ud800" }, "upstream_model"],
    [{ ...model, price: 1 }, ""],
  ])("rejects the model %j at %s", (bad, path) => {
    const { error } = inferenceSchema.safeParse({ upstreams: [{ name: "main", models: [bad] }] });
    expect(error?.issues[0]?.path.join(".")).toBe(["upstreams.0.models.0", path].filter(Boolean).join("."));
  });

  it.each([
    [{ upstreams: [] }, "upstreams"],
    [{ upstreams: [{ name: "a", models: [] }] }, "upstreams.0.models"],
    [{ upstreams: [{ name: "a", api_key: "sk-inline" }] }, "upstreams.0"],
    [{ upstreams: [{ name: "a", base_url: "file:///etc/passwd" }] }, "upstreams.0.base_url"],
    [{ upstreams: [{ name: "a", kind: "tgi" }] }, "upstreams.0.kind"],
    [{ upstreams: [{ name: "a", weight: -1 }] }, "upstreams.0.weight"],
    [{ upstreams: [{ name: "a", headers_env: { Host: "A" } }] }, "upstreams.0.headers_env.Host"],
    [{ upstreams: [{ name: "a", headers_env: { "a b": "A" } }] }, "upstreams.0.headers_env.a b"],
    [{ refresh_seconds: 1 }, "refresh_seconds"],
    [{ upstream: [] }, ""],
  ])("rejects %j at %s", (bad, path) => {
    expect(inferenceSchema.safeParse(bad).error?.issues[0]?.path.join(".")).toBe(path);
  });
});
