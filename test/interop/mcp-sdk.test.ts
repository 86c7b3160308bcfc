import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, type CallToolResult, type McpError } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { memoOf, startWorld, xPayment, type Agent, type World } from "../support/world.ts";

/** The official MCP client, as agents embed it, against POST /mcp. */

const PAID = { name: "vram_estimate", arguments: { model: "llama-3.1-8b" } };

let world: World;
const clients: Client[] = [];

beforeAll(async () => {
  world = await startWorld();
});
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});
afterAll(async () => {
  expect(await world.violations()).toEqual([]);
  await world.close();
});

async function connect(agent: Agent | undefined, customFetch: typeof fetch = fetch): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(`${world.gateway.baseUrl}/mcp`), {
    requestInit: { headers: agent ? { Authorization: `Bearer ${agent.apiKey}` } : {} },
    fetch: customFetch,
  });
  const client = new Client({ name: "test", version: "1.0.0" });
  clients.push(client);
  await client.connect(transport);
  return client;
}

async function call(
  client: Client,
  params: { name: string; arguments: Record<string, unknown> },
): Promise<CallToolResult> {
  return CallToolResultSchema.parse(await client.callTool(params));
}

/** The client's error for an HTTP error: the body is at the end of its message. */
async function httpError(
  promise: Promise<unknown>,
): Promise<{ status: number | undefined; body: Record<string, unknown> }> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof StreamableHTTPError)) throw new Error(`not an HTTP error: ${String(error)}`);
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

describe("the MCP SDK client", () => {
  it("connects, negotiates the newest version that it knows, and pings", async () => {
    const client = await connect(await world.agent());
    expect(client.getServerVersion()).toEqual({ name: "toolgate", version: "0.1.0" });
    expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: false } });
    expect(client.getInstructions()).toContain("402");
    await client.ping();
  });

  it("lists the tools", async () => {
    const client = await connect(await world.agent());
    const { tools } = await client.listTools();
    expect(tools.slice(0, 3).map((tool) => tool.name)).toEqual(["get_status", "echo", "vram_estimate"]);
  });

  it("calls a free tool", async () => {
    const client = await connect(await world.agent());
    const result = await call(client, { name: "echo", arguments: { message: "héllo 😀" } });
    expect(result.structuredContent).toEqual({ echo: "héllo 😀" });
    expect(result.isError).toBe(false);
  });

  it("calls a paid tool from the balance after listing, and validates the result", async () => {
    const agent = await world.agent({ balance: 2_000n });
    const client = await connect(agent);
    await client.listTools();
    const result = await call(client, PAID);
    expect(result._meta).toMatchObject({
      "toolgate/receipt": { debited_usdc_microusd: 1000, paid_by: "balance" },
    });
    expect((await world.get(agent, "/receipts")).body.items).toEqual([result._meta?.["toolgate/receipt"]]);
  });

  it("returns bad arguments to the model and throws for an unknown tool", async () => {
    const client = await connect(await world.agent());
    const result = await call(client, { name: "echo", arguments: { message: 1 } });
    expect(result.isError).toBe(true);
    expect(result.content).toEqual([{ type: "text", text: expect.stringMatching(/^params\.message: /) }]);
    await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    } satisfies Partial<McpError>);
  });

  it("throws an HTTP error with the whole offer for a 402", async () => {
    const client = await connect(await world.agent());
    const { status, body } = await httpError(client.callTool(PAID));
    expect(status).toBe(402);
    expect(body).toMatchObject({
      code: "PAYMENT_REQUIRED",
      quote: { tool: "vram_estimate", price_usdc_microusd: 1000 },
      payment_instructions: { pay_to: world.gateway.payTo },
    });
  });

  it("pays on the chain and repeats the call through its own fetch, charged once", async () => {
    const agent = await world.agent();
    const client = await connect(agent, payingFetch(agent));
    const result = await call(client, PAID);
    expect(result._meta).toMatchObject({
      "toolgate/receipt": { debited_usdc_microusd: 1000, paid_by: "transfer" },
    });
    expect((await world.get(agent, "/receipts")).body.items).toHaveLength(1);
  });

  it("gets an error for a missing key when it connects, and does not hang", async () => {
    const { status, body } = await httpError(connect(undefined));
    expect(status).toBe(401);
    expect(body).toMatchObject({ code: "UNAUTHORIZED" });
  });

  it("reads 403 and 429 with their bodies, and does not retry by itself", async () => {
    const scoped = await connect(await world.agent({ scopes: [] }));
    expect(await httpError(scoped.callTool(PAID))).toMatchObject({
      status: 403,
      body: { code: "FORBIDDEN" },
    });
    let requests = 0;
    const hasty = await connect(await world.agent({ ratePerMinute: 1, burst: 2 }), (url, init) => {
      requests++;
      return fetch(url, init);
    });
    requests = 0;
    const { status, body } = await httpError(hasty.ping());
    expect(status).toBe(429);
    expect(body["retry_after_seconds"]).toBeGreaterThan(0);
    expect(requests).toBe(1);
  });

  it("serves many clients concurrently without sessions between them", async () => {
    const agents = await Promise.all([1, 2, 3, 4].map(() => world.agent()));
    const all = await Promise.all(agents.map((agent) => connect(agent)));
    const results = await Promise.all(
      all.map((client, index) => call(client, { name: "echo", arguments: { message: `${index}` } })),
    );
    expect(results.map((result) => result.structuredContent)).toEqual(
      [0, 1, 2, 3].map((index) => ({ echo: `${index}` })),
    );
  });
});
