import { EventEmitter, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import {
  Client,
  ProtocolError,
  SdkHttpError,
  StreamableHTTPClientTransport,
  type Progress,
  type VersionNegotiationMode,
} from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { fixture, fixtureTools } from "../conformance/fixture-tools.ts";
import { startFixtureGateway, type FixtureGateway } from "../conformance/fixture-gateway.ts";
import { command } from "../tooling/command.ts";
import type { Agent } from "../support/world.ts";

/**
 * The official client, version 2, in each of its modes; notifications to version 1 beyond mcp-sdk.test.ts;
 * and the inspector on the command line.
 */

const PAID = { name: "vram_estimate", arguments: { model: "llama-3.1-8b" } };
const ME = { name: "test", version: "1.0.0" };
const STEPS = { name: "test_tool_with_progress", arguments: {} };
const FAILS = { name: "fails", arguments: {} };
/** The outcome. */
const FAILED = { code: 500, data: { code: "INTERNAL" } };

const MODES: readonly (readonly [string, VersionNegotiationMode, string])[] = [
  ["that opens with initialize", "legacy", "2025-11-25"],
  ["that finds out what is spoken", "auto", "2026-07-28"],
  ["that speaks 2026-07-28 and nothing else", { pin: "2026-07-28" }, "2026-07-28"],
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
/** An account with a key and no balance. */
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

async function connect(
  apiKey: string | undefined,
  mode: VersionNegotiationMode,
  headers: Record<string, string> = {},
): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(`${world.gateway.baseUrl}/mcp`), {
    requestInit: {
      headers: { ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }), ...headers },
    },
  });
  const client = new Client(ME, { versionNegotiation: { mode } });
  clients.push(client);
  await client.connect(transport);
  return client;
}

/** The client's error for an HTTP error contains the whole body. */
async function httpError(promise: Promise<unknown>): Promise<{ status: number; body: unknown }> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SdkHttpError)) throw new Error(`not an HTTP error: ${String(error)}`);
  return { status: error.status, body: JSON.parse(String(error.data.text)) };
}

describe.each(MODES)("the official MCP client %s", (_, mode, revision) => {
  it("connects and negotiates the newest common version", async () => {
    const client = await connect(anyone.apiKey, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: "toolgate" });
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: false } });
  });

  it("lists the tools and calls a free one", async () => {
    const client = await connect(anyone.apiKey, mode);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["get_status", "echo", "vram_estimate"]),
    );
    const result = await client.callTool({ name: "echo", arguments: { message: "héllo 😀" } });
    expect(result).toMatchObject({ structuredContent: { echo: "héllo 😀" }, isError: false });
  });

  it("calls a paid tool from the balance after listing, and validates the result", async () => {
    const agent = await world.agent({ balance: 2_000n });
    const client = await connect(agent.apiKey, mode);
    await client.listTools();
    const { _meta: meta } = await client.callTool(PAID);
    expect(meta).toMatchObject({ "toolgate/receipt": { debited_usdc_microusd: 1000, paid_by: "balance" } });
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(1_000n);
  });

  it("returns bad arguments to the model and throws for an unknown tool", async () => {
    const client = await connect(anyone.apiKey, mode);
    expect(await client.callTool({ name: "echo", arguments: { message: 1 } })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: expect.stringMatching(/^params\.message: /) }],
    });
    const unknown = client.callTool({ name: "nothing", arguments: {} });
    await expect(unknown).rejects.toThrow(ProtocolError);
    await expect(unknown).rejects.toMatchObject({ code: -32602 });
  });

  it("throws an HTTP error with the whole offer for a 402", async () => {
    const client = await connect(anyone.apiKey, mode);
    const { status, body } = await httpError(client.callTool(PAID));
    expect(status).toBe(402);
    expect(body).toMatchObject({
      code: "PAYMENT_REQUIRED",
      quote: { tool: "vram_estimate", price_usdc_microusd: 1000 },
      payment_instructions: { pay_to: world.gateway.payTo },
    });
  });

  it("returns the offer to the model when it requests that", async () => {
    const client = await connect(anyone.apiKey, mode, { Prefer: "payment=in-band" });
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
    const client = await connect(anyone.apiKey, mode);
    const heard: Progress[] = [];
    const result = await client.callTool(STEPS, { onprogress: (progress) => heard.push(progress) });
    expect(heard).toEqual([0, 50, 100].map((progress) => ({ progress, total: 100 })));
    expect(result.structuredContent).toEqual({ done: true });
  });

  it("receives at once the failure of a tool whose progress it follows", async () => {
    const client = await connect(anyone.apiKey, mode);
    await expect(client.callTool(FAILS, { onprogress: () => {} })).rejects.toMatchObject(FAILED);
  });

  it("ends a call and the tool's work by closing", async () => {
    const client = await connect(anyone.apiKey, mode);
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
      const client = await connect(anyone.apiKey, mode);
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
    for (const key of [undefined, `sk-agent-${"0".repeat(40)}`]) {
      expect(await httpError(connect(key, mode))).toMatchObject({
        status: 401,
        body: { code: "UNAUTHORIZED" },
      });
    }
  });
});

describe("the official MCP client of the first protocol version", () => {
  async function connectFirst(apiKey: string, headers: Record<string, string> = {}): Promise<FirstClient> {
    const client = new FirstClient(ME);
    clients.push(client);
    await client.connect(
      new FirstTransport(new URL(`${world.gateway.baseUrl}/mcp`), {
        requestInit: { headers: { Authorization: `Bearer ${apiKey}`, ...headers } },
      }),
    );
    return client;
  }

  it("receives progress and result in the first protocol version", async () => {
    const client = await connectFirst(anyone.apiKey);
    const heard: Progress[] = [];
    const result = await client.callTool(STEPS, undefined, {
      onprogress: (progress) => heard.push(progress),
    });
    expect(heard).toEqual([0, 50, 100].map((progress) => ({ progress, total: 100 })));
    expect(result["structuredContent"]).toEqual({ done: true });
  });

  it("receives a tool's failure at once in the first protocol version", async () => {
    const client = await connectFirst(anyone.apiKey);
    await expect(client.callTool(FAILS, undefined, { onprogress: () => {} })).rejects.toMatchObject(FAILED);
  });

  it("ends the tool's work by closing in the first protocol version", async () => {
    const client = await connectFirst(anyone.apiKey);
    const [started, ended] = [once(calls, "started"), once(calls, "ended")];
    const call = client.callTool({ name: "wait", arguments: {} }).catch((error: unknown) => error);
    await started;
    await client.close();
    await ended;
    expect(await call).toBeInstanceOf(Error);
  });

  it("returns the offer to the model when it requests that, without validating it", async () => {
    const client = await connectFirst(anyone.apiKey, { Prefer: "payment=in-band" });
    await client.listTools();
    const result = await client.callTool(PAID);
    expect(result["isError"]).toBe(true);
    expect(JSON.stringify(result["content"])).toContain("PAYMENT_REQUIRED");
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
    const seen: string[] = [];
    const watched: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      const { pathname } = new URL(input instanceof Request ? input.url : input);
      const body: unknown = await response.clone().json();
      seen.push(`${init?.method ?? "GET"} ${pathname} ${response.status}`);
      expect(body).toMatchObject({ code: response.status === 401 ? "UNAUTHORIZED" : "NOT_FOUND" });
      return response;
    };
    await expect(connectAnonymously(new URL(`${world.gateway.baseUrl}/mcp`), watched)).rejects.toThrow();
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

  it("lists tools with valid schemas, calls them, and shows the offer of an unpaid one", async () => {
    const call = (name: string, ...args: string[]) =>
      inspect(anyone, "--method", "tools/call", "--tool-name", name, ...args);
    const [list, echo, paid] = await Promise.all([
      inspect(anyone, "--method", "tools/list", "--strict"),
      call("echo", "--tool-arg", "message=hi"),
      call("vram_estimate", "--tool-arg", "model=llama-3.1-8b"),
    ]);
    expect(list).toMatchObject({ code: 0, output: expect.stringContaining("vram_estimate") });
    expect(echo.code).toBe(0);
    expect(JSON.parse(echo.output)).toMatchObject({ structuredContent: { echo: "hi" } });
    expect(paid.code).not.toBe(0);
    expect(paid.output).toContain("PAYMENT_REQUIRED");
  });
});
