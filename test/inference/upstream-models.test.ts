import { describe, expect, it } from "vitest";
import { UpstreamModels } from "../../src/inference/upstream-models.ts";
import { COMPLETION, json, modelServer } from "./model-server.ts";
import { settingsFor, SHOP, TERMS } from "./upstream-settings.ts";

const signal = new AbortController().signal;
const request = { messages: [{ role: "user" as const, content: "hi" }], maxTokens: 5, temperature: undefined };

describe("the models of all upstreams", () => {
  it("are those of the tables, and no server is asked for them", async () => {
    await using server = await modelServer((response) => json(response, 500, {}));
    const shop = await UpstreamModels.open([settingsFor(server.baseUrl)], SHOP);
    expect(shop.models).toEqual([{ id: "m1", ...TERMS }]);
    expect(server.received).toEqual([]);
  });

  it("are what a server lists, on the default terms and within the context that it tells", async () => {
    const list = {
      object: "list",
      data: [
        { id: "a", object: "model" },
        { id: "b", max_model_len: 64 },
        { id: "c", max_model_len: null },
      ],
    };
    await using server = await modelServer((response) => json(response, 200, list));
    const shop = await UpstreamModels.open([settingsFor(server.baseUrl, { models: undefined })], SHOP);
    expect(shop.models).toEqual([
      { id: "a", ...TERMS },
      { id: "b", ...TERMS, contextLength: 64, maxOutputTokens: 63 },
      { id: "c", ...TERMS },
    ]);
    expect(server.received.map(({ method, url }) => `${method} ${url}`)).toEqual(["GET /v1/models"]);
  });

  it("are bought where they are sold", async () => {
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
    await shop.complete({ model: "m2", ...request }, { signal, runId: undefined });
    expect([one.received.length, two.received.length]).toEqual([0, 1]);
    expect(two.received[0]?.headers.authorization).not.toContain("secret-key");
  });

  it("are the first seller's where two list the same", async () => {
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
    await shop.complete({ model: "a", ...request }, { signal, runId: undefined });
    expect([one.received.length, two.received.length]).toEqual([2, 1]);
  });

  it("are each asked for once of a server that lists them twice", async () => {
    const list = { data: [{ id: "a" }, { id: "a", max_model_len: 50 }] };
    await using one = await modelServer((response, { method }) =>
      json(response, method === "GET" ? 200 : 404, method === "GET" ? list : {}),
    );
    const shop = await UpstreamModels.open([settingsFor(one.baseUrl, { models: undefined })], SHOP);
    expect(shop.models).toEqual([{ id: "a", ...TERMS }]);
    await expect(shop.complete({ model: "a", ...request }, { signal, runId: undefined })).rejects.toMatchObject({
      code: "TOOL_FAILED",
    });
    expect(one.received.map(({ method }) => method)).toEqual(["GET", "POST"]);
    await shop.close();
  });
});
