import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type ChatCompletion,
  type ChatModel,
  type ChatModels,
  type ChatOptions,
  type ChatRequest,
  parseTokenRate,
} from "../../../src/domain/tools/chat.ts";
import { ToolgateError } from "../../../src/domain/core/errors.ts";
import type { Tool } from "../../../src/domain/tools/tool.ts";
import { chatTool } from "../../../src/tools/inference-chat/tool.ts";
import { call, refusalOf, toolContext } from "../tool-context.ts";

const rate = (usd: string): bigint => parseTokenRate(usd) ?? 0n;

const SMALL: ChatModel = {
  id: "small",
  inputRate: rate("0.2"),
  outputRate: rate("0.6"),
  contextLength: 2_000,
  maxOutputTokens: 500,
  bytesPerToken: 1,
};
const LARGE: ChatModel = {
  id: "large",
  inputRate: rate("3"),
  outputRate: rate("15"),
  contextLength: 200_000,
  maxOutputTokens: 8_000,
  bytesPerToken: 4,
};

class Shop implements ChatModels {
  models: readonly ChatModel[] = [SMALL, LARGE];
  readonly asked: [ChatRequest, ChatOptions][] = [];
  answer: Promise<ChatCompletion> = Promise.resolve({
    content: "Four.",
    finishReason: "stop",
    usage: { promptTokens: 11, completionTokens: 2, totalTokens: 13 },
  });

  complete(request: ChatRequest, options: ChatOptions): Promise<ChatCompletion> {
    this.asked.push([request, options]);
    return this.answer;
  }
}

describe("an alias of models", () => {
  const aliased = (id: string, by: "order" | "price", models: readonly string[], healthy = models) => {
    const shop = Object.assign(new Shop(), { isHealthy: (model: string) => healthy.includes(model) });
    return chatTool(shop, "used", undefined, [{ id, models, by }]);
  };
  const chosen = (tool: Tool, more: object = {}) =>
    tool.prepare({ model: "alias", messages: [{ role: "user", content: "2+2?" }], ...more }).choice?.name;

  it("stands for its first model that is healthy and takes the call", () => {
    expect(chosen(aliased("alias", "order", ["large", "small"]))).toBe("large");
    expect(chosen(aliased("alias", "order", ["large", "small"], ["small"]))).toBe("small");
    expect(chosen(aliased("alias", "order", ["small", "large"]), { max_tokens: 8_000 })).toBe("large");
    expect(chosen(aliased("alias", "order", ["gone", "small"]))).toBe("small");
    expect(chosen(aliased("alias", "order", ["large", "small"], []))).toBe("large");
  });

  it("stands for the one with the lowest quote, if so configured", () => {
    expect(chosen(aliased("alias", "price", ["large", "small"]))).toBe("small");
    expect(chosen(aliased("alias", "price", ["large", "small"], ["large"]))).toBe("large");
  });

  it("is offered with the models while one of them is, and is no model otherwise", () => {
    const offer = (tool: Tool) => [tool.modelApi?.aliases, JSON.stringify(tool.inputSchema)];
    const [aliases, schema] = offer(aliased("alias", "price", ["large", "gone"]));
    expect(aliases).toEqual([{ id: "alias", models: ["large"], by: "price" }]);
    expect(schema).toContain("alias: of large, the one with the lowest price");
    const none = aliased("alias", "price", ["gone"]);
    expect(offer(none)).toEqual([[], expect.not.stringContaining("alias:")]);
    expect(() => chosen(none)).toThrow(/params\.model: is not offered/);
  });

  it("reports what its models have against a call that none takes", () => {
    const tool = aliased("alias", "order", ["large", "small"]);
    expect(() => chosen(tool, { max_tokens: 9_000 })).toThrow("must be at most 8000 for large");
  });
});

const tool = chatTool(new Shop());
const messages = [{ role: "user", content: "2+2?" }];

describe("inference_chat", () => {
  it("returns text, model, token counts and finish reason", async () => {
    await expect(call(tool, JSON.stringify({ model: "small", messages }))).resolves.toEqual({
      type: "text",
      content: "Four.",
      model: "small",
      usage: { prompt_tokens: 11, completion_tokens: 2, total_tokens: 13 },
      finish_reason: "stop",
    });
  });

  it("passes on the conversation, limit, account, idempotency key and signal", async () => {
    const chatModels = new Shop();
    const { signal } = new AbortController();
    const conversation = [{ role: "system", content: "Be brief." }, ...messages];
    await chatTool(chatModels)
      .prepare({ model: "small", messages: conversation, max_tokens: 7, temperature: 0.3 })
      .run(toolContext(signal));
    expect(chatModels.asked).toEqual([
      [
        { model: "small", messages: conversation, maxTokens: 7, temperature: 0.3 },
        {
          ...{ signal, accountId: "acct_1", idempotencyKey: "claim_1", onChunk: undefined },
          isUsedUp: expect.any(Function),
        },
      ],
    ]);
  });

  it("calls no server before it runs", () => {
    const chatModels = new Shop();
    chatTool(chatModels).prepare({ model: "small", messages });
    expect(chatModels.asked).toEqual([]);
  });

  it("limits the answer to the paid tokens, by default the model's limit", async () => {
    const chatModels = new Shop();
    await call(chatTool(chatModels), JSON.stringify({ model: "large", messages }));
    expect(chatModels.asked[0]?.[0].maxTokens).toBe(LARGE.maxOutputTokens);
  });

  it("returns estimates if the server does not count, and null without a finish reason", async () => {
    const chatModels = new Shop();
    chatModels.answer = Promise.resolve({ content: "x", finishReason: null, usage: null });
    await expect(
      call(chatTool(chatModels), JSON.stringify({ model: "small", messages })),
    ).resolves.toMatchObject({
      usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6, estimated: true },
      finish_reason: null,
    });
  });

  it("rethrows a server's failure", async () => {
    const chatModels = new Shop();
    chatModels.answer = Promise.reject(new ToolgateError("UNAVAILABLE", "busy", { retryAfterSeconds: 9 }));
    const answer = call(chatTool(chatModels), JSON.stringify({ model: "small", messages }));
    await expect(answer).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 9 });
  });
});

describe("models for sale", () => {
  const modelIn = (tool: Tool) =>
    z
      .object({
        properties: z.object({ model: z.object({ enum: z.array(z.string()), description: z.string() }) }),
      })
      .parse(tool.inputSchema).properties.model;

  it("are listed in the schema with limits and prices", () => {
    const { description, ...model } = modelIn(tool);
    expect(model.enum).toEqual(["small", "large"]);
    expect(description.split("\n").slice(1)).toEqual([
      "small: context 2000 tokens, answer at most 500; USD 0.2 per million tokens of the prompt, 0.6 " +
        "of the answer",
      "large: context 200000 tokens, answer at most 8000; USD 3 per million tokens of the prompt, 15 " +
        "of the answer",
    ]);
  });

  it("may change at run time; without any the tool is unavailable", () => {
    const chatModels = new Shop();
    chatModels.models = [];
    const chat = chatTool(chatModels);
    expect(chat).toMatchObject({ status: "coming_soon", inputSchema: { type: "object" } });
    expect(() => chat.prepare({ model: "small", messages })).toThrow(
      expect.objectContaining({ code: "TOOL_UNAVAILABLE", status: 404 }),
    );
    chatModels.models = [LARGE];
    expect([chat.status, modelIn(chat).enum]).toEqual(["active", ["large"]]);
    expect(chat.prepare({ model: "large", messages }).price).toBeGreaterThan(0n);
    expect(chat.inputSchema, "is cached").toBe(chat.inputSchema);
    chatModels.models = [];
    expect(chat.status).toBe("coming_soon");
  });

  it("keep the terms a call was priced at", async () => {
    const chatModels = new Shop();
    const prepared = chatTool(chatModels).prepare({ model: "small", messages });
    chatModels.models = [{ ...SMALL, maxOutputTokens: 1_500 }];
    await prepared.run(toolContext(new AbortController().signal));
    expect(chatModels.asked[0]?.[0].maxTokens).toBe(500);
  });
});

describe("price of a conversation", () => {
  const price = (params: { model: string; max_tokens?: number; contents: string[] }): bigint => {
    const { contents, ...rest } = params;
    return tool.prepare({ ...rest, messages: contents.map((content) => ({ role: "user", content })) }).price;
  };

  it("charges prompt bytes, 8 tokens per message, 64 per conversation, and max_tokens, each at its rate", () => {
    // (64 + 8 + 4) * 0.2 + 100 * 0.6 = 75.2, rounded up
    expect(price({ model: "small", contents: ["2+2?"], max_tokens: 100 })).toBe(76n);
    // (64 + 2 * 8 + 8) * 0.2 + 100 * 0.6 = 77.6
    expect(price({ model: "small", contents: ["2+2?", "3+3?"], max_tokens: 100 })).toBe(78n);
  });

  it("uses the model's own limit without max_tokens", () => {
    expect(price({ model: "small", contents: ["2+2?"] })).toBe(
      price({ model: "small", contents: ["2+2?"], max_tokens: 500 }),
    );
  });

  it("counts UTF-8 bytes, an upper bound of tokens", () => {
    // 10 characters of 4 bytes: (64 + 8 + 40) * 0.2 + 0.6 = 23
    expect(price({ model: "small", contents: ["\u{1F600}".repeat(10)], max_tokens: 1 })).toBe(23n);
  });

  it("divides by the configured bytes per token", () => {
    // (64 + 8 + 1000 / 4) * 3 + 10 * 15 = 1116
    expect(price({ model: "large", contents: ["x".repeat(1_000)], max_tokens: 10 })).toBe(1_116n);
  });

  it("depends on the parameters, so the catalogue shows no fixed price", () => {
    expect(tool).toMatchObject({ billable: true, fixedPrice: undefined, scope: "inference:write" });
  });
});

describe("invalid conversations", () => {
  const one = '"messages":[{"role":"user","content":"hi"}]';

  it.each([
    ["{}", "params.model: is required, a string; params.messages: is required, an array"],
    [`{"model":"gpt-9",${one}}`, "params.model: is not offered; there are small, large"],
    [`{"model":"__proto__",${one}}`, "params.model: is not offered; there are small, large"],
    [`{"model":5,${one}}`, "params.model: must be a string, not a number"],
    ['{"model":"small","messages":[]}', "params.messages: must have at least 1 item"],
    ['{"model":"small","messages":"hi"}', "params.messages: must be an array, not a string"],
    ['{"model":"small","messages":{"0":{}}}', "params.messages: must be an array, not an object"],
    ['{"model":"small","messages":["hi"]}', "params.messages[0]: must be an object, not a string"],
    [
      '{"model":"small","messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"boss","content":"c"}]}',
      'params.messages[2].role: must be one of "system", "user", "assistant"',
    ],
    ['{"model":"small","messages":[{"role":"user"}]}', "params.messages[0].content: is required, a string"],
    [
      '{"model":"small","messages":[{"content":"hi"}]}',
      'params.messages[0].role: must be one of "system", "user", "assistant"',
    ],
    [
      '{"model":"small","messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}',
      "params.messages[0].content: must be a string, not an array",
    ],
    [
      '{"model":"small","messages":[{"role":"user","content":"hi","name":"bob"}]}',
      "params.messages[0].name: is unknown, leave it out, there are role, content",
    ],
    [
      '{"model":"small","messages":[{"role":"user","content":"hi","__proto__":{}}]}',
      "params.messages[0].__proto__: is unknown",
    ],
    [
      `{"model":"small","stream":true,${one}}`,
      "params.stream: is unknown, leave it out, there are model, messages, max_tokens, temperature",
    ],
    [`{"model":"small","stream":false,${one}}`, "params.stream: is unknown"],
    [`{"model":"small","max_tokens":0,${one}}`, "params.max_tokens: must be at least 1"],
    [`{"model":"small","max_tokens":-5,${one}}`, "params.max_tokens: must be at least 1"],
    [
      `{"model":"small","max_tokens":1.5,${one}}`,
      "params.max_tokens: must be a whole number, not a fraction",
    ],
    [`{"model":"small","max_tokens":"50",${one}}`, "params.max_tokens: must be a number, not a string"],
    [`{"model":"small","max_tokens":501,${one}}`, "params.max_tokens: must be at most 500 for small"],
    [`{"model":"small","max_tokens":1e300,${one}}`, "params.max_tokens: must be at most 9007199254740991"],
    [`{"model":"small","temperature":2.1,${one}}`, "params.temperature: must be at most 2"],
    [`{"model":"small","temperature":-0.1,${one}}`, "params.temperature: must be at least 0"],
    [`{"model":"small","temperature":null,${one}}`, "params.temperature: must be a number, not null"],
  ])("rejects %s", (params, refusal) => {
    expect(refusalOf(tool, params)).toContain(`INVALID_REQUEST ${refusal}`);
  });

  it("rejects before a quote what exceeds the model's context", () => {
    const long = (length: number, max_tokens: number): string =>
      JSON.stringify({
        model: "small",
        max_tokens,
        messages: [{ role: "user", content: "x".repeat(length) }],
      });
    expect(refusalOf(tool, long(20_000, 10))).toBe(
      "INVALID_REQUEST params.messages: the prompt (at least 2501 tokens) and the answer (10 tokens) " +
        "exceed the 2000 tokens of small; shorten the messages or lower max_tokens",
    );
    expect(tool.prepare(JSON.parse(long(11_992, 500))).price).toBeGreaterThan(0n);
    expect(refusalOf(tool, long(11_993, 500))).toContain("exceed the 2000 tokens of small");
  });

  it("accepts at most 1024 messages", () => {
    const many = Array.from({ length: 1_025 }, () => ({ role: "user", content: "" }));
    expect(refusalOf(tool, JSON.stringify({ model: "large", messages: many }))).toContain(
      "params.messages: must have at most 1024 items",
    );
  });

  it("lists at most 50 models", () => {
    const chatModels = new Shop();
    const models = Array.from({ length: 70 }, (_, index) => ({ ...SMALL, id: `model-${index}` }));
    const wide = chatTool({
      models,
      complete: (request, options) => chatModels.complete(request, options),
    });
    expect(refusalOf(wide, `{"model":"Model_42",${one}}`)).toMatch(
      /is not offered; the closest are model-42, [^,]+, [^,]+, [^,]+, [^,;]+; GET \/mcp\/capabilities lists 65 more$/,
    );
    const { properties } = z
      .object({
        properties: z.object({ model: z.object({ enum: z.array(z.string()), description: z.string() }) }),
      })
      .parse(wide.inputSchema);
    expect(properties.model.enum, "but the schema names all").toHaveLength(70);
    expect(properties.model.description).toMatch(/^model-49: .* and 20 more$/m);
  });
});

describe("withdrawn models", () => {
  const input = { model: "small", messages };
  const chatModels = new Shop();
  const changing = chatTool(chatModels);

  it("are not quoted, but still serve a call paid before", async () => {
    changing.prepare(input);
    chatModels.models = [LARGE];
    const prepared = changing.prepare(input);
    expect(() => prepared.price).toThrow("params.model: is not offered; there are large");
    await prepared.run(toolContext());
    expect(chatModels.asked.at(-1)?.[0], "on its last terms").toMatchObject({
      model: "small",
      maxTokens: 500,
    });
  });

  it("still have their parameters checked; unknown models are rejected", () => {
    expect(() => changing.prepare({ ...input, max_tokens: 501 })).toThrow("params.max_tokens");
    for (const model of ["other", "", 1, null])
      expect(() => changing.prepare({ ...input, model })).toThrow("params.model");
  });

  it("are offered again once they return", () => {
    chatModels.models = [SMALL, LARGE];
    expect(changing.prepare(input).price).toBe(tool.prepare(input).price);
  });
});
