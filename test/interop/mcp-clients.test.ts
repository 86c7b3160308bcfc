import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import {
  Client,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type CallToolResult,
  type Progress,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport as FirstTransport,
  StreamableHTTPError as FirstHttpError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { fixture, fixtureTools } from "../conformance/fixture-tools.ts";
import { startFixtureGateway, type FixtureGateway } from "../conformance/fixture-gateway.ts";
import { SERVER_CAPABILITIES } from "../contract/mcp-client.ts";
import { command } from "../tooling/command.ts";
import { memoOf, startHere, xPayment, type Agent } from "../support/world.ts";

/** The official client in both versions, the second in each of its modes, and the inspector. */

const PAID = { name: "vram_estimate", arguments: { model: "llama-3.1-8b" } };
const ME = { name: "test", version: "1.0.0" };
const STEPS = { name: "test_tool_with_progress", arguments: {} };
const FAILS = { name: "fails", arguments: {} };
const FAILED = {
  isError: true,
  content: [{ type: "text", text: expect.stringContaining("repeat the request") }],
  _meta: { "toolgate/error": { code: "INTERNAL", request_id: expect.stringMatching(/^req_/) } },
};

/** What the tests use of a client, in its second version. */
type Caller = Pick<Client, "callTool" | "listTools" | "close" | "getServerVersion" | "getServerCapabilities">;

/** Connects with headers; a client of the first version cannot name the version that it negotiated. */
type Connect = (headers: Record<string, string>, customFetch?: typeof fetch) => Promise<Caller>;

const MODES: readonly (readonly [string, Connect, string | undefined])[] = [
  ["of the first version", connectFirst, undefined],
  ["that opens with initialize", second("legacy"), "2025-11-25"],
  ["that finds out what is spoken", second("auto"), "2026-07-28"],
  ["that speaks 2026-07-28 and nothing else", second({ pin: "2026-07-28" }), "2026-07-28"],
];

/** `started` when a call of `wait` runs, `ended` when its signal aborts. */
const calls = new EventEmitter<{ started: []; ended: [] }>();
const wait = fixture("wait", async ({ signal }) => {
  calls.emit("started");
  await once(signal, "abort");
  calls.emit("ended");
  return signal.throwIfAborted() ?? {};
});

/** Fails after it started, when the status of a stream was already sent. */
const fails = fixture("fails", async ({ progress }) => {
  progress?.({ progress: 0 });
  throw new Error("the tool broke");
});

let world: FixtureGateway;
let anyone: Agent;
const clients: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  world = await startFixtureGateway([...fixtureTools(), wait, fails]);
  anyone = await world.agent();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
});

const endpoint = () => new URL(`${world.gateway.baseUrl}/mcp`);

function second(mode: VersionNegotiationMode): Connect {
  return async (headers, customFetch = fetch) => {
    const client = new Client(ME, { versionNegotiation: { mode } });
    clients.push(client);
    const options = { requestInit: { headers }, fetch: customFetch };
    await client.connect(new StreamableHTTPClientTransport(endpoint(), options));
    return client;
  };
}

async function connectFirst(headers: Record<string, string>, customFetch = fetch): Promise<Caller> {
  const client = new FirstClient(ME);
  clients.push(client);
  await client.connect(new FirstTransport(endpoint(), { requestInit: { headers }, fetch: customFetch }));
  const callTool: Caller["callTool"] = async (params, options) =>
    (await client.callTool(params, undefined, options)) as CallToolResult;
  return Object.assign(Object.create(client) as FirstClient, { callTool }) as unknown as Caller;
}

/** The client's error for an HTTP error contains the whole body. */
async function httpError(promise: Promise<unknown>): Promise<{ status: unknown; body: unknown }> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof SdkHttpError)
    return { status: error.status, body: JSON.parse(String(error.data.text)) };
  if (!(error instanceof FirstHttpError)) throw new Error(`not an HTTP error: ${String(error)}`);
  return { status: error.code, body: JSON.parse(error.message.slice(error.message.indexOf("{"))) };
}

/** Pays the offer and repeats the request: all an agent needs to buy through any MCP client. */
function payingFetch(agent: Agent): typeof fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.status !== 402) return response;
    const { quote } = (await response.json()) as { quote: { quote_id: string; price_usdc_microusd: number } };
    const tx = await world.pay(agent, BigInt(quote.price_usdc_microusd), memoOf(quote));
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(xPayment(tx, quote.quote_id))) headers.set(name, value);
    return fetch(url, { ...init, headers });
  };
}

const keyOf = ({ apiKey }: Agent) => ({ Authorization: `Bearer ${apiKey}` });

describe.each(MODES)("the official MCP client %s", (_, open, revision) => {
  it("connects and negotiates the newest common version", async () => {
    const client = await open(keyOf(anyone));
    if (client instanceof Client) expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: "toolgate" });
    expect(client.getServerCapabilities()).toEqual(SERVER_CAPABILITIES);
  });

  it("lists the tools and calls a free one", async () => {
    const client = await open(keyOf(anyone));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["get_status", "echo", "vram_estimate"]),
    );
    const result = await client.callTool({ name: "echo", arguments: { message: "héllo 😀" } });
    expect(result).toMatchObject({ structuredContent: { echo: "héllo 😀" }, isError: false });
  });

  it("calls a paid tool from the balance after listing, and validates the result", async () => {
    const agent = await world.agent({ balance: 2_000n });
    const client = await open(keyOf(agent));
    await client.listTools();
    const { _meta: meta } = await client.callTool(PAID);
    expect(meta).toMatchObject({ "toolgate/receipt": { debited_usdc_microusd: 1000, paid_by: "balance" } });
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_000n);
  });

  it("returns bad arguments to the model and throws for an unknown tool", async () => {
    const client = await open(keyOf(anyone));
    expect(await client.callTool({ name: "echo", arguments: { message: 1 } })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/^params\.message: /) }],
    });
    const unknown = client.callTool({ name: "nothing", arguments: {} });
    await expect(unknown).rejects.toMatchObject({ code: -32602 });
  });

  it("throws an HTTP error with the whole offer for a 402", async () => {
    const client = await open(keyOf(anyone));
    const { status, body } = await httpError(client.callTool(PAID));
    expect(status).toBe(402);
    expect(body).toMatchObject({
      code: "PAYMENT_REQUIRED",
      quote: { tool: "vram_estimate", price_usdc_microusd: 1000 },
      payment_instructions: { pay_to: world.gateway.payTo },
    });
  });

  it("returns the offer to the model when it requests that", async () => {
    const client = await open({ ...keyOf(anyone), Prefer: "payment=in-band" });
    await client.listTools();
    const result = await client.callTool(PAID);
    expect(result.isError).toBe(true);
    const [block] = result.content;
    expect(JSON.parse(block?.type === "text" ? block.text : "")).toMatchObject({
      code: "PAYMENT_REQUIRED",
      quote: { tool: "vram_estimate" },
    });
  });

  it("receives the progress of a long call, then its result", async () => {
    const client = await open(keyOf(anyone));
    const heard: Progress[] = [];
    const result = await client.callTool(STEPS, { onprogress: (progress) => heard.push(progress) });
    expect(heard).toEqual([0, 50, 100].map((progress) => ({ progress, total: 100 })));
    expect(result.structuredContent).toEqual({ done: true });
  });

  it("receives the failure of a tool as a result, also when it follows its progress, and goes on", async () => {
    const client = await open(keyOf(anyone));
    expect(await client.callTool(FAILS)).toMatchObject(FAILED);
    expect(await client.callTool(FAILS, { onprogress: () => {} })).toMatchObject(FAILED);
    expect((await client.callTool({ name: "echo", arguments: { message: "on" } })).structuredContent).toEqual(
      {
        echo: "on",
      },
    );
    await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toMatchObject({ code: -32602 });
  });

  it("ends a call and the tool's work by closing", async () => {
    const client = await open(keyOf(anyone));
    const [started, ended] = [once(calls, "started"), once(calls, "ended")];
    const call = client.callTool({ name: "wait", arguments: {} }).catch((error: unknown) => error);
    await started;
    await client.close();
    await ended;
    expect(await call).toBeInstanceOf(Error);
  });

  // Before 2026-07-28 that is a notification, which needs a session.
  it.runIf(revision === "2026-07-28")(
    "aborts one call and the tool's work, and keeps the connection",
    async () => {
      const client = await open(keyOf(anyone));
      const [started, ended] = [once(calls, "started"), once(calls, "ended")];
      const controller = new AbortController();
      const { signal } = controller;
      const call = client
        .callTool({ name: "wait", arguments: {} }, { signal })
        .catch((error: unknown) => error);
      await started;
      controller.abort();
      await ended;
      expect(await call).toBeInstanceOf(Error);
      expect(await client.callTool({ name: "echo", arguments: { message: "x" } })).toMatchObject({
        isError: false,
      });
    },
  );

  it("gets an error at once for a missing key and for a wrong one", async () => {
    for (const headers of [{}, { Authorization: `Bearer sk-agent-${"0".repeat(40)}` }])
      expect(await httpError(open(headers))).toMatchObject({ status: 401, body: { code: "UNAUTHORIZED" } });
  });

  it("pays on the chain and repeats the call through its own fetch, charged once", async () => {
    const agent = await world.agent();
    const { _meta: meta } = await (await open(keyOf(agent), payingFetch(agent))).callTool(PAID);
    expect(meta).toMatchObject({ "toolgate/receipt": { debited_usdc_microusd: 1000, paid_by: "transfer" } });
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(0n);
  });

  it("reads 403 and 429 with their bodies, and does not retry by itself", async () => {
    const scoped = await open(keyOf(await world.agent({ scopes: [] })));
    const refused = await httpError(scoped.callTool(PAID));
    expect(refused).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    let requests = 0;
    const hasty = await open(keyOf(await world.agent({ ratePerMinute: 1, burst: 3 })), (url, init) => {
      if (init?.method === "POST") requests++;
      return fetch(url, init);
    });
    for (let left = 3 - requests; left > 0; left--)
      await hasty.callTool({ name: "get_status", arguments: {} });
    requests = 0;
    const limited = await httpError(hasty.callTool({ name: "get_status", arguments: {} }));
    expect(limited).toMatchObject({ status: 429, body: { retry_after_seconds: expect.any(Number) } });
    expect(requests).toBe(1);
  });
});

describe("an MCP client that would log in by OAuth", () => {
  /** All paths that the clients request before they find a login server. */
  const provider = {
    redirectUrl: "http://127.0.0.1/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1/callback"] },
    clientInformation: () => undefined,
    saveClientInformation: () => {},
    tokens: () => undefined,
    saveTokens: () => {},
    redirectToAuthorization: () => {},
    saveCodeVerifier: () => {},
    codeVerifier: () => "",
  };

  it.for([
    [
      "first",
      (url: URL, watched: typeof fetch) =>
        new FirstClient(ME).connect(new FirstTransport(url, { authProvider: provider, fetch: watched })),
    ],
    [
      "second",
      (url: URL, watched: typeof fetch) =>
        new Client(ME).connect(
          new StreamableHTTPClientTransport(url, { authProvider: provider, fetch: watched }),
        ),
    ],
  ] as const)("finds no OAuth server at once, in its %s version", async ([, connectAnonymously]) => {
    const gateway = await startHere({ ...world.settings, OAUTH: "off" });
    clients.push(gateway);
    const seen: string[] = [];
    const watched: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      const body: unknown = await response.clone().json();
      seen.push(`${init?.method ?? "GET"} ${pathname} ${response.status}`);
      expect(body).toMatchObject({ code: response.status === 401 ? "UNAUTHORIZED" : "NOT_FOUND" });
      return response;
    };
    await expect(connectAnonymously(new URL(`${gateway.baseUrl}/mcp`), watched)).rejects.toThrow();
    expect(seen[0]).toBe("POST /mcp 401");
    expect(seen.slice(1).every((line) => line.endsWith(" 404"))).toBe(true);
    expect(seen.length).toBeLessThan(8);
  });
});

describe("the MCP inspector on the command line", () => {
  const require = createRequire(import.meta.url);
  const inspector = require.resolve("@modelcontextprotocol/inspector/clients/launcher/build/index.js");
  let home: string;
  beforeAll(async () => {
    home = await mkdtemp(path.join(os.tmpdir(), "toolgate-inspector-"));
  });
  afterAll(() => rm(home, { recursive: true, force: true }));

  /** It keeps things in the home directory. */
  const inspect = ({ apiKey }: Agent, ...args: string[]) =>
    command(
      "node",
      [
        ...[inspector, "--cli", `${world.gateway.baseUrl}/mcp`, "--transport", "http", ...args],
        ...["--header", `Authorization: Bearer ${apiKey}`],
      ],
      { env: { HOME: home } },
    );

  it("lists valid schemas, calls tools, and shows a failure and the offer of an unpaid one", async () => {
    const call = (name: string, ...args: string[]) =>
      inspect(anyone, "--method", "tools/call", "--tool-name", name, ...args);
    const [list, echo, paid, broken] = await Promise.all([
      inspect(anyone, "--method", "tools/list", "--strict"),
      call("echo", "--tool-arg", "message=hi"),
      call("vram_estimate", "--tool-arg", "model=llama-3.1-8b"),
      call("fails"),
    ]);
    expect(list).toMatchObject({ code: 0, output: expect.stringContaining("vram_estimate") });
    expect(echo.code).toBe(0);
    expect(JSON.parse(echo.output)).toMatchObject({ structuredContent: { echo: "hi" } });
    expect(broken.output).toContain('"isError": true');
    expect(broken.output).toContain("repeat the request with the same idempotency key");
    expect(paid.code).not.toBe(0);
    expect(paid.output).toContain("PAYMENT_REQUIRED");
  });
});
