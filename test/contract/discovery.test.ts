import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { KeyLimits } from "../../src/domain/accounts/budget.ts";
import { uuidOf } from "../../src/domain/core/ids.ts";
import type { Gateway } from "../../src/gateway.ts";
import { limitedKey } from "../support/api-keys.ts";
import { openDatabaseLink, type DatabaseLink } from "../support/database-link.ts";
import { query } from "../support/database-server.ts";
import { useWorld } from "../support/use-world.ts";
import { request, type Agent } from "../support/world.ts";
import { expectError } from "./error-body.ts";

/**
 * What a program learns before its first call: the catalogue, prices, health (specification 4.3, 4.4, 2.6),
 * /llms.txt and deploy/server.json. documents.test.ts shows the other refusals.
 */

const CALL = "/v1/mcp/tools/call";
const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };

const world = useWorld();
/** An instance that relays nothing. */
let plainGateway: Gateway;
let anyone: Agent;
let funded: Agent;
let rich: Agent;
let poor: Agent;
beforeAll(async () => {
  plainGateway = await world.startAnother({ FEE_PAYER_KEYPAIR: "" });
  const agent = (balance = 0n) => world.agent({ balance });
  [anyone, funded, rich, poor] = await Promise.all([agent(), agent(10_000n), agent(2_000n), agent(400n)]);
});

const list = (caller?: Agent, headers?: Record<string, string>) =>
  world.get(caller, "/mcp/capabilities", headers);

describe("capabilities: 200", () => {
  it("lists the catalogue in order with status, billing and the payment address", async () => {
    const { status, body } = await list();
    expect(status).toBe(200);
    const { tools, ...rest } = body;
    expect(rest).toEqual({ version: "0.1.0", network: "solana-mainnet", asset: "USDC" });
    const rows = tools.map((tool: Record<string, unknown>) => [
      tool["name"],
      tool["status"],
      tool["billable"],
    ]);
    expect(rows).toEqual([
      ["get_status", "active", false],
      ["echo", "active", false],
      ["inference_chat", "coming_soon", true],
      ["vram_estimate", "active", true],
      ["sandbox_execute", "coming_soon", true],
      ["sandbox_cancel", "coming_soon", false],
      ["gpu_provision", "coming_soon", false],
    ]);
  });

  it("returns the same with and without a key, and counts the keyed request", async () => {
    const [keyed, open] = [await list(anyone), await list()];
    expect(keyed.body).toEqual(open.body);
    expect(keyed.headers.get("x-ratelimit-limit")).toBe("1000000");
    expect(open.headers.get("x-ratelimit-limit")).toBeNull();
    expect(open.headers.get("x-request-id")).toMatch(/^req_/);
  });
});

describe("capabilities: 401", () => {
  it.each(["Bearer sk-agent-unknown", "Bearer nope", "Basic YTpi", "Bearer", "sk-agent-unknown"])(
    "rejects the bad credentials %j although none are required",
    async (authorization) => {
      expectError(await list(undefined, { authorization }), 401, "UNAUTHORIZED", /key|Bearer/);
    },
  );
});

const textOf = async (url: string) => (await fetch(url)).text();

describe("/llms.txt", () => {
  it("follows llmstxt.org: one heading, a summary, text, then sections of links", async () => {
    const lines = (await textOf(`${world.gateway.baseUrl}/llms.txt`)).split("\n");
    expect(lines.filter((line) => line.startsWith("# "))).toEqual([lines[0]]);
    expect(lines.slice(1, 4)).toEqual(["", expect.stringMatching(/^> ./), ""]);
    const sections = lines.slice(lines.findIndex((line) => line.startsWith("## ")));
    expect(lines.filter((line) => line.startsWith("#")).slice(1)).toEqual(["## Contract", "## Optional"]);
    for (const line of sections) expect(line).toMatch(/^(?:|## \w+|- \[[^\]]+\]\(https?:[^)]+\): .+)$/);
  });

  it("links only to existing pages", async () => {
    const links = (await textOf(`${world.gateway.baseUrl}/llms.txt`)).matchAll(/\]\((http[^)]+)\)/g);
    const answers = await Promise.all(
      [...links].map(async ([, url = ""]) => [url, (await fetch(url)).status]),
    );
    expect(answers.length).toBeGreaterThan(2);
    expect(answers.filter(([, status]) => status !== 200)).toEqual([]);
  });

  it("names every tool of the catalogue with its price", async () => {
    const page = await textOf(`${world.gateway.baseUrl}/llms.txt`);
    const { tools } = (await world.get(undefined, "/mcp/capabilities")).body;
    for (const { name, status, billable, price } of tools) {
      const words = status === "active" ? (billable ? price?.price_display : "free") : "not available yet";
      expect(page).toMatch(new RegExp(`^- \`${name}\` \\(.*${(words ?? "quote").replace("$", "\\$")}`, "m"));
    }
  });

  it("shows a call that works once the key is filled in", async () => {
    const page = await textOf(`${world.gateway.baseUrl}/llms.txt`);
    const [, url = "", body] = /^POST (\S+)\n[^{]*(\{.*\})$/m.exec(page) ?? [];
    const { apiKey } = await world.agent();
    const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
    const answer = await fetch(url, { method: "POST", headers, body: body ?? "" });
    expect(await answer.json()).toEqual({ ok: true, result: { echo: "hello" } });
  });

  it("offers the relay only when it is enabled", async () => {
    const [relaying, plain] = await Promise.all([
      textOf(`${world.gateway.baseUrl}/llms.txt`),
      textOf(`${plainGateway.baseUrl}/llms.txt`),
    ]);
    expect(relaying).toContain("/v1/payments/transaction");
    expect(relaying).toContain("PAYMENT-REQUIRED");
    expect(plain).not.toMatch(/v1\/payments\/transaction|PAYMENT-REQUIRED/);
  });
});

describe("deploy/server.json for registries", () => {
  it("describes a remote that works as described", async () => {
    const file = await readFile(path.join(import.meta.dirname, "../../deploy/server.json"), "utf8");
    const { version, name, description: words, remotes } = JSON.parse(file);
    expect(version).toBe("0.1.0");
    // Requirements of the registry's schema of 2025-12-11.
    expect(name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(words.length).toBeLessThanOrEqual(100);
    const [{ type, url, variables, headers }] = remotes;
    expect([type, Object.keys(variables)]).toEqual(["streamable-http", ["host"]]);
    const [header] = headers;
    expect(header).toMatchObject({ name: "Authorization", isRequired: true, isSecret: true });
    const { apiKey } = await world.agent();
    const answer = await fetch(url.replace("https://{host}", world.gateway.baseUrl), {
      method: "POST",
      headers: {
        [header.name]: header.value.replace("{api_key}", apiKey),
        "content-type": "application/json",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
    expect(await answer.json()).toMatchObject({
      result: { tools: expect.arrayContaining([expect.anything()]) },
    });
  });
});

const health = (headers?: Record<string, string>) => world.get(undefined, "/health", headers);

describe("health: 200", () => {
  it("returns ok and the version to anyone", async () => {
    const answer = await health();
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ status: "ok", version: "0.1.0" });
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
  });

  it("ignores credentials, so that every probe gets an answer", async () => {
    expect((await health({ authorization: "Bearer sk-agent-unknown" })).status).toBe(200);
    expect((await health({ authorization: "Basic YTpi" })).status).toBe(200);
  });
});

describe("health: 503", () => {
  let link: DatabaseLink;
  let far: Gateway;
  const get = (path: string, caller?: Agent) => request(far, caller, path, { method: "GET" });
  const post = (path: string, body: object) =>
    request(far, funded, path, { method: "POST", body: JSON.stringify(body) });

  beforeAll(async () => {
    link = await openDatabaseLink(world.database.url);
    far = await world.startAnother({ DATABASE_URL: link.url });
  });
  afterEach(async () => {
    link.mend();
    await expect.poll(async () => (await get("/health")).status).toBe(200);
  });
  afterAll(() => link.close());

  it("returns unavailable while the database is unreachable", async () => {
    link.cut();
    const answer = await get("/health");
    expect(answer.status).toBe(503);
    expect(answer.body).toEqual({ status: "unavailable", version: "0.1.0" });
  });

  it("answers calls with UNAVAILABLE and a retry delay while the database is unreachable, and loses nothing", async () => {
    expect((await post(CALL, { tool: "get_status", params: {} })).status).toBe(200);
    const unseen = await world.agent();
    link.cut();
    const answers = await Promise.all([
      post(CALL, { tool: "get_status", params: {} }),
      post(CALL, { ...PAID, idempotency_key: "outage" }),
      post("/mcp", PAID),
      get("/mcp/capabilities", unseen),
      get("/receipts", funded),
      get("/runs", funded),
      get(`/runs/run_${"0".repeat(32)}`, funded),
    ]);
    for (const answer of answers) {
      expectError(answer, 503, "UNAVAILABLE", /out of reach|unreachable/);
      expect(answer.body.retry_after_seconds).toBeGreaterThan(0);
    }
    link.mend();
    const paid = await post(CALL, { ...PAID, idempotency_key: "outage" });
    expect(paid.status).toBe(200);
    expect(await world.violations()).toEqual([]);
  });
});

const PATH = "/v1/mcp/tools/price";
const price = (agent: Agent | undefined, call: object = PAID) => world.post(agent, PATH, call);

const limited = (agent: Agent, change: Partial<KeyLimits>) => limitedKey(world, agent, change);

describe("the price of a call", () => {
  it("returns the price and the missing balance over HTTP", async () => {
    expect(await price(poor)).toMatchObject({
      status: 200,
      body: {
        tool: "vram_estimate",
        price_usdc_microusd: 1_000,
        price_display: "$0.001",
        balance_usdc_microusd: 400,
        missing_usdc_microusd: 600,
      },
    });
    expect((await price(rich)).body).toMatchObject({ missing_usdc_microusd: 0 });
    const free = await price(poor, { tool: "echo", params: { message: "hi" } });
    expect(free.body).toMatchObject({ price_usdc_microusd: 0, missing_usdc_microusd: 0 });
  });

  it("stores nothing, charges nothing and is rate-limited like a call", async () => {
    const agent = await world.agent({ balance: 2_000n, ratePerMinute: 1, burst: 2 });
    const answers = await Promise.all([price(agent), price(agent), price(agent)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
    expect(await world.postgres.ledger.balance(agent.accountId)).toBe(2_000n);
    const { rows } = await query(
      world.database.url,
      `select from run where account_id = '${uuidOf("acct", agent.accountId)}'`,
    );
    expect(rows).toEqual([]);
  });

  it("fails like the call without a key, a tool, valid parameters or a sufficient limit", async () => {
    expectError(await price(undefined), 401, "UNAUTHORIZED");
    expectError(await price(poor, { tool: "teleport", params: {} }), 404, "TOOL_NOT_FOUND");
    const invalid = { ...PAID, params: { parameters_b: -1 } };
    expectError(await price(poor, invalid), 400, "INVALID_REQUEST", /^params\.parameters_b/);
    const oneTool = await limited(rich, { tools: new Set(["echo"]) });
    expectError(await price(oneTool), 403, "FORBIDDEN", /limited to the tools echo/);
    const small = await limited(rich, { perCall: 999n });
    expectError(await price(small), 403, "FORBIDDEN", /\$0\.000999 a call/);
  });

  it("counts today's spending of the key against its daily limit", async () => {
    const agent = await limited(await world.agent({ balance: 10_000n }), { perDay: 1_500n });
    expect((await price(agent)).status).toBe(200);
    expect((await world.call(agent, PAID.tool, PAID.params)).status).toBe(200);
    expectError(await price(agent), 403, "FORBIDDEN", /\$0\.001 is spent/);
  });
});
