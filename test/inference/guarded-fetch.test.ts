import type { LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ChatRequest } from "../../src/domain/tools/chat.ts";
import { ForbiddenAddressError } from "../../src/outbound/address-guard.ts";
import { guardedFetch } from "../../src/outbound/guarded-fetch.ts";
import { inferenceSchema } from "../../src/inference/config.ts";
import { resolveUpstreams } from "../../src/inference/upstream-settings.ts";
import { Upstream } from "../../src/inference/upstream.ts";
import { COMPLETION, json, modelServer } from "./model-server.ts";
import { settingsFor } from "./upstream-settings.ts";

const request: ChatRequest = {
  model: "m1",
  messages: [{ role: "user", content: "2+2?" }],
  maxTokens: 50,
  temperature: undefined,
};
const options = { signal: new AbortController().signal, accountId: "acct_1", idempotencyKey: undefined };

/** A resolver that returns one list per lookup, then repeats the last. */
function resolver(...answers: (readonly string[])[]): { lookup: LookupFunction; asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    const found: LookupAddress[] = answer.map((address) => ({
      address,
      family: address.includes(":") ? 6 : 4,
    }));
    const [first] = found;
    process.nextTick(() =>
      all ? callback(null, found) : callback(null, first?.address ?? "", first?.family),
    );
  };
  return { lookup, asked };
}

/** The same server under a host name. */
function named(baseUrl: string): string {
  return baseUrl.replace("127.0.0.1", "models.example");
}

function causes(error: unknown): unknown[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}

async function refused(call: Promise<unknown>): Promise<boolean> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return causes(error).some((cause) => cause instanceof ForbiddenAddressError);
}

describe("connections to upstreams", () => {
  it("does not follow a redirect, so the key reaches no other server", async () => {
    await using thief = await modelServer((response) => json(response, 200, COMPLETION));
    for (const status of [301, 302, 303, 307, 308]) {
      await using server = await modelServer((response) =>
        json(response, status, {}, { Location: `${thief.baseUrl}/chat/completions` }),
      );
      await expect(
        new Upstream(settingsFor(server.baseUrl)).complete(request, options),
      ).rejects.toMatchObject({ code: "TOOL_FAILED", message: expect.stringContaining(`HTTP ${status}`) });
      expect(server.received).toHaveLength(1);
    }
    expect(thief.received).toEqual([]);
  });

  it("connects to the address the upstream's name resolves to", async () => {
    await using server = await modelServer((response) => json(response, 200, COMPLETION));
    const { lookup, asked } = resolver(["127.0.0.1"]);
    const upstream = new Upstream(settingsFor(named(server.baseUrl)), lookup);
    await expect(upstream.complete(request, options)).resolves.toMatchObject({ content: "Four." });
    expect(asked).toEqual(["models.example"]);
    expect(server.received[0]?.headers.host).toBe(new URL(named(server.baseUrl)).host);
  });

  it("stops connecting when the name resolves to the metadata service", async () => {
    await using server = await modelServer((response) =>
      json(response, 200, COMPLETION, { Connection: "close" }),
    );
    const { lookup, asked } = resolver(["127.0.0.1"], ["169.254.169.254"]);
    const upstream = new Upstream(settingsFor(named(server.baseUrl)), lookup);
    await upstream.complete(request, options);
    expect(await refused(upstream.complete(request, options))).toBe(true);
    expect([asked.length, server.received.length]).toEqual([2, 1]);
  });

  it("does not connect if one of several addresses is blocked", async () => {
    await using server = await modelServer((response) => json(response, 200, COMPLETION));
    const { lookup } = resolver(["127.0.0.1", "fe80::1"]);
    expect(
      await refused(new Upstream(settingsFor(named(server.baseUrl)), lookup).complete(request, options)),
    ).toBe(true);
    expect(server.received).toEqual([]);
  });

  it.each(["127.0.0.1", "10.0.0.1", "::1", "::ffff:127.0.0.1"])(
    "does not connect with network: public when the name resolves to %s",
    async (address) => {
      await using server = await modelServer((response) => json(response, 200, COMPLETION));
      const { lookup } = resolver([address]);
      const upstream = new Upstream(settingsFor(named(server.baseUrl), { network: "public" }), lookup);
      expect(await refused(upstream.complete(request, options))).toBe(true);
      expect(server.received).toEqual([]);
    },
  );

  it("does not connect with network: public to this machine in any notation", async () => {
    await using server = await modelServer((response) => json(response, 200, COMPLETION));
    for (const host of [
      "127.0.0.1",
      "0x7f.1",
      "2130706433",
      "0177.0.0.1",
      "127.1",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
    ]) {
      const settings = settingsFor(server.baseUrl.replace("127.0.0.1", host), { network: "public" });
      expect(await refused(new Upstream(settings).complete(request, options)), host).toBe(true);
    }
    expect(server.received).toEqual([]);
  });

  it.each([
    ["as it is", {}, (text: string) => text],
    ["compressed", { "Content-Encoding": "gzip" }, (text: string) => gzipSync(text)],
  ])("stops reading a response after 16 MiB, %s", async (_, headers, encoded) => {
    const choices = [{ message: { content: "x".repeat(17 * 1024 * 1024) } }];
    const body = encoded(JSON.stringify({ ...COMPLETION, choices }));
    await using server = await modelServer((response) =>
      response.writeHead(200, { "Content-Type": "application/json", ...headers }).end(body),
    );
    await expect(new Upstream(settingsFor(server.baseUrl)).complete(request, options)).rejects.toMatchObject({
      code: "TOOL_FAILED",
      message: expect.stringContaining("answer is too long"),
    });
  });
});

describe("guarded fetch", () => {
  it("aborts together with the caller", async () => {
    await using server = await modelServer(() => {});
    const gone = new AbortController();
    const asking = guardedFetch({ network: "any" })(server.baseUrl, { signal: gone.signal });
    await expect.poll(() => server.received.length).toBe(1);
    gone.abort();
    await expect(asking).rejects.toMatchObject({ name: "AbortError" });
  });
});

describe("addresses in the configuration", () => {
  const problemsWith = (base_url: string, network = "any") =>
    resolveUpstreams(inferenceSchema.parse({ upstreams: [{ name: "main", base_url, network }] }), {})
      .problems;

  it.each([
    "http://169.254.169.254/v1",
    "http://0xa9fea9fe/v1",
    "http://2852039166/v1",
    "http://[::ffff:169.254.169.254]/v1",
    "http://[fe80::1]/v1",
    "http://0/v1",
    "http://224.0.0.1/v1",
  ])("rejects an upstream with %s before any request", (baseUrl) => {
    expect(problemsWith(baseUrl)).toEqual([
      expect.stringMatching(/^inference\.upstreams\[0\]: .* is not allowed/),
    ]);
  });

  it("rejects credentials in a URL without repeating them", () => {
    for (const userinfo of ["hush", "hush:hush", ":hush"]) {
      const [problem = "", ...more] = problemsWith(`https://${userinfo}@models.example/v1`);
      expect(more).toEqual([]);
      expect(problem).toContain("must not contain a user name or password");
      expect(problem).not.toContain("hush");
    }
  });

  it("accepts a private address unless network is public", () => {
    expect(problemsWith("http://10.0.0.1/v1")).toEqual([]);
    expect(problemsWith("http://10.0.0.1/v1", "public")).toHaveLength(1);
    expect(problemsWith("https://models.example/v1", "public")).toEqual([]);
  });
});
