import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Metrics } from "../../src/app/operations/metrics.ts";
import { silentMetrics } from "../../src/metrics/silent-metrics.ts";
import type { ChatCompletion } from "../../src/domain/tools/chat.ts";
import { UpstreamModels } from "../../src/inference/upstream-models.ts";
import type { UpstreamSettings } from "../../src/inference/upstream-settings.ts";
import { json, modelServer } from "./model-server.ts";
import { startOddServer, type OddServer } from "./odd-server/start.ts";
import { settingsFor, SHOP, TERMS } from "./upstream-settings.ts";

/** One model on several upstreams, each with a name that describes its behaviour. */
let server: OddServer;
let closed: string;
let now = 0;
let count = 0;
beforeAll(async () => {
  server = await startOddServer();
  const gone = await modelServer(() => {});
  await gone[Symbol.asyncDispose]();
  closed = gone.baseUrl;
});
afterAll(() => server.close());
beforeEach(() => {
  now = 0;
  count++;
});

const name = (upstream: string) => `${upstream}-${count}`;

async function shopOf(
  ...upstreams: readonly (readonly [string, Partial<UpstreamSettings>?])[]
): Promise<UpstreamModels> {
  const settings = upstreams.map(([upstream, more]) =>
    settingsFor(server.baseUrl, {
      name: upstream,
      models: [{ id: "sold", upstreamModel: name(upstream), ...TERMS }],
      stallTimeoutMs: 100,
      firstPieceTimeoutMs: 100,
      ...more,
    }),
  );
  return UpstreamModels.open(settings, { ...SHOP, clock: { now: () => now } });
}

function buy(chatModels: UpstreamModels, accountId = "acct_1"): Promise<ChatCompletion> {
  const request = { model: "sold", messages: [], maxTokens: 5, temperature: undefined };
  return chatModels.complete(request, {
    signal: new AbortController().signal,
    accountId,
    idempotencyKey: "claim_1",
  });
}

const GOOD = { content: "Four." };

describe("a model on several upstreams", () => {
  it.each(["busy", "overloaded", "key-refused", "unknown"])(
    "fails over if the first upstream certainly computed nothing: %s",
    async (behaviour) => {
      await server.become(name("a"), behaviour);
      await server.become(name("b"), "good");
      expect(await buy(await shopOf(["a"], ["b"]))).toMatchObject(GOOD);
      expect([await server.asked(name("a")), await server.asked(name("b"))]).toEqual([1, 1]);
    },
  );

  it("fails over if the first upstream is unreachable", async () => {
    await server.become(name("b"), "good");
    expect(await buy(await shopOf(["a", { baseUrl: closed }], ["b"]))).toMatchObject(GOOD);
  });

  it.each(["fails", "cut", "headers-only", "ends-early", "done-only", "too-much", "error-in-200"])(
    "does not fail over if the first upstream may have computed an answer: %s",
    async (behaviour) => {
      await server.become(name("a"), behaviour);
      await server.become(name("b"), "good");
      await expect(buy(await shopOf(["a"], ["b"]))).rejects.toMatchObject({ code: "TOOL_FAILED" });
      expect(await server.asked(name("b"))).toBe(0);
    },
  );

  it("returns UNAVAILABLE with the shortest Retry-After if all upstreams are busy", async () => {
    await server.become(name("a"), "busy-long");
    await server.become(name("b"), "overloaded");
    const chatModels = await shopOf(["a"], ["b"], ["c", { baseUrl: closed }]);
    await expect(buy(chatModels)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      status: 503,
      retryAfterSeconds: 5,
    });
    now += 4_001;
    await expect(buy(chatModels), "left alone meanwhile").rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryAfterSeconds: 1,
    });
    expect([await server.asked(name("a")), await server.asked(name("b"))]).toEqual([1, 1]);
    await server.become(name("b"), "good");
    now += 999;
    expect(await buy(chatModels)).toMatchObject(GOOD);
  });

  it("fails if no upstream is reachable", async () => {
    const chatModels = await shopOf(["a", { baseUrl: closed }], ["b", { baseUrl: closed }]);
    await expect(buy(chatModels)).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: "inference: no server for the model can be reached; nothing was charged",
    });
  });

  it("distributes calls by weight and uses weight 0 only as a fallback", async () => {
    for (const upstream of ["a", "b", "c"]) await server.become(name(upstream), "plain");
    const chatModels = await shopOf(["a"], ["b", { weight: 2 }], ["c", { weight: 1 }]);
    for (let bought = 0; bought < 6; bought++) await buy(chatModels);
    const shares = () => Promise.all(["a", "b", "c"].map((upstream) => server.asked(name(upstream))));
    expect(await shares()).toEqual([0, 4, 2]);
    await server.become(name("b"), "busy-long");
    await server.become(name("c"), "busy-long");
    expect(await buy(chatModels)).toMatchObject(GOOD);
    expect((await shares())[0]).toBe(1);
  });

  it("applies the lowest limits of all upstreams", async () => {
    const models = [{ id: "sold", upstreamModel: "x", ...TERMS, contextLength: 300, maxOutputTokens: 20 }];
    const chatModels = await shopOf(["a"], ["b", { models }]);
    expect(chatModels.models).toEqual([{ id: "sold", ...TERMS, contextLength: 300, maxOutputTokens: 20 }]);
  });
});

describe("circuit breaker of an upstream", () => {
  it("is a metric while it is open for all accounts", async () => {
    const reported: unknown[] = [];
    const metrics: Metrics = {
      ...silentMetrics,
      set: (metric, value, labels) => void reported.push([metric, value, labels?.["upstream"]]),
    };
    const models = [{ id: "sold", upstreamModel: name("a"), ...TERMS }];
    const settings = settingsFor(server.baseUrl, { name: "a", models });
    const chatModels = await UpstreamModels.open([settings], { ...SHOP, clock: { now: () => now }, metrics });
    const report = (value: number) => ["toolgate_model_breaker_open", value, "a"];
    expect(reported.splice(0)).toEqual([report(0)]);
    await server.become(name("a"), "fails");
    for (const account of ["acct_1", "acct_2"]) await buy(chatModels, account).catch(() => undefined);
    expect(reported).toEqual([]);
    await buy(chatModels, "acct_3").catch(() => undefined);
    expect(reported.splice(0)).toEqual([report(1)]);
    await server.become(name("a"), "good");
    now += 1_000;
    expect(await buy(chatModels)).toMatchObject(GOOD);
    expect(reported).toEqual([report(0)]);
    await chatModels.close();
  });

  it("opens after five consecutive failures, retries after a second, and closes on success", async () => {
    await server.become(name("a"), "fails");
    const chatModels = await shopOf(["a"]);
    for (let failed = 0; failed < 5; failed++)
      await expect(buy(chatModels)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect(buy(chatModels)).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 1 });
    expect(await server.asked(name("a"))).toBe(5);
    now += 1_000;
    await expect(buy(chatModels)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect(buy(chatModels)).rejects.toMatchObject({ code: "UNAVAILABLE", retryAfterSeconds: 2 });
    await server.become(name("a"), "good");
    now += 2_000;
    expect(await buy(chatModels)).toMatchObject(GOOD);
    expect(await buy(chatModels)).toMatchObject(GOOD);
  });

  it("lets others retry while the first trial streams a long answer", async () => {
    await server.become(name("a"), "fails");
    const chatModels = await shopOf(["a", { timeoutMs: 60_000, stallTimeoutMs: 60_000 }]);
    for (let failed = 0; failed < 5; failed++) await buy(chatModels).catch(() => undefined);
    await server.become(name("a"), "stall");
    now += 1_000;
    const gone = new AbortController();
    const request = { model: "sold", messages: [], maxTokens: 5, temperature: undefined };
    const first = chatModels
      .complete(request, { signal: gone.signal, accountId: "acct_1", idempotencyKey: undefined })
      .catch(() => "gone");
    await expect.poll(() => server.asked(name("a"))).toBe(6);
    await server.become(name("a"), "good");
    await expect.poll(() => buy(chatModels).catch(() => undefined)).toMatchObject(GOOD);
    gone.abort();
    expect(await first).toBe("gone");
  });

  it.each(["fails", "html", "cut", "headers-only", "key-refused", "busy-long"])(
    "stays closed for other accounts when one account's calls fail: %s",
    async (behaviour) => {
      await server.become(name("a"), behaviour);
      const chatModels = await shopOf(["a"]);
      for (let failed = 0; failed < 9; failed++)
        await expect(buy(chatModels, "acct_attacker")).rejects.toThrow();
      await expect(buy(chatModels, "acct_attacker")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      await server.become(name("a"), "good");
      expect(await buy(chatModels, "acct_other")).toMatchObject(GOOD);
    },
  );

  it.each(["fails", "busy-long"])(
    "opens when the calls of three accounts fail in a row: %s",
    async (behaviour) => {
      await server.become(name("a"), behaviour);
      const chatModels = await shopOf(["a"]);
      for (const account of ["acct_1", "acct_2", "acct_3"])
        await expect(buy(chatModels, account)).rejects.toThrow();
      await expect(buy(chatModels, "acct_4")).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(await server.asked(name("a"))).toBe(3);
    },
  );

  it("opens for all accounts after three failed connections", async () => {
    const chatModels = await shopOf(["a", { baseUrl: closed }]);
    for (let failed = 0; failed < 3; failed++)
      await expect(buy(chatModels)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    await expect(buy(chatModels, "acct_2")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryAfterSeconds: 1,
    });
  });

  it("routes around the upstream if another serves the model", async () => {
    await server.become(name("a"), "fails");
    await server.become(name("b"), "good");
    const chatModels = await shopOf(["a"], ["b"]);
    for (let failed = 0; failed < 5; failed++) await buy(chatModels).catch(() => undefined);
    expect(await buy(chatModels)).toMatchObject(GOOD);
  });

  it.each(["too-much", "done-only", "flagged", "flagged-in-stream", "error-in-200"])(
    "ignores failures caused by the conversation: %s",
    async (behaviour) => {
      await server.become(name("a"), behaviour);
      const chatModels = await shopOf(["a"]);
      for (let failed = 0; failed < 7; failed++)
        await expect(buy(chatModels)).rejects.toMatchObject({ code: "TOOL_FAILED" });
    },
  );
});

describe("an upstream without a table", () => {
  it("offers its models once the server answers, and keeps them after later failures", async () => {
    let status = 500;
    let ids = ["a"];
    await using lists = await modelServer((response) =>
      json(response, status, { data: ids.map((id) => ({ id })) }),
    );
    const chatModels = await UpstreamModels.open(
      [settingsFor(lists.baseUrl, { models: undefined, refreshMs: 50 }), settingsFor(closed)],
      SHOP,
    );
    try {
      const names = () => chatModels.models.map(({ id }) => id);
      expect(names(), "the others' models are there").toEqual(["m1"]);
      status = 200;
      await expect.poll(names).toEqual(["a", "m1"]);
      const { models } = chatModels;
      const asked = lists.received.length;
      await expect.poll(() => lists.received.length).toBeGreaterThan(asked + 1);
      expect(chatModels.models, "the same array as long as nothing changes").toBe(models);
      ids = ["a", "b"];
      await expect.poll(names).toEqual(["a", "b", "m1"]);
      for (const bad of [500, 200]) {
        status = bad;
        ids = [];
        const before = lists.received.length;
        await expect.poll(() => lists.received.length).toBeGreaterThan(before + 1);
        expect(names()).toEqual(["a", "b", "m1"]);
      }
    } finally {
      await chatModels.close();
    }
    const asked = lists.received.length;
    // Another one asks as often, until the closed one would have asked again.
    await using others = await modelServer((response) => json(response, 200, { data: [] }));
    const another = await UpstreamModels.open(
      [settingsFor(others.baseUrl, { models: undefined, refreshMs: 50 })],
      SHOP,
    );
    await expect.poll(() => others.received.length).toBeGreaterThan(4);
    await another.close();
    expect(lists.received.length, "asks no more once it is closed").toBeLessThanOrEqual(asked + 1);
  });

  it("does not serve models of another upstream's table", async () => {
    await using lists = await modelServer((response) =>
      json(response, 200, { data: [{ id: "sold", max_model_len: 50 }] }),
    );
    await server.become(name("b"), "good");
    const chatModels = await shopOf(["a", { baseUrl: lists.baseUrl, models: undefined }], ["b"]);
    expect(chatModels.models).toEqual([{ id: "sold", ...TERMS }]);
    expect(await buy(chatModels)).toMatchObject(GOOD);
    await chatModels.close();
  });
});
