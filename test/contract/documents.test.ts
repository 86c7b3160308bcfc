import SwaggerParser from "@apidevtools/swagger-parser";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Keypair } from "@solana/web3.js";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { createSIWxPayload, encodeSIWxHeader } from "@x402/extensions/sign-in-with-x";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ERRORS } from "../../src/domain/core/errors.ts";
import { restartPort } from "../support/ports.ts";
import type { Gateway } from "../../src/gateway.ts";
import { openDatabaseLink, type DatabaseLink } from "../support/database-link.ts";
import { useWorld } from "../support/use-world.ts";
import { memoOf, request, xPayment, type Agent, type Answer } from "../support/world.ts";
import { walletSigner } from "../support/wallet-signer.ts";
import { SLOT_MS, x402Payer } from "../interop/x402-payer.ts";
import { Description } from "./described.ts";
import { expectError } from "./error-body.ts";

/** /openapi.json and /llms.txt are public, and true of every response. */

const PUBLIC_URL = "https://tools.example.com";
const CALL = "/v1/mcp/tools/call";
const PRICE = "/v1/mcp/tools/price";
const BUILD = "/v1/payments/transaction";
const PAID = { tool: "vram_estimate", params: { model: "llama-3.1-8b" } };
const JSON_BODY = { "Content-Type": "application/json" };
const ECHO = { tool: "echo", params: { message: "hi" } };

const world = useWorld({ BODY_LIMIT_BYTES: "65536" }, SLOT_MS);
let rich: Agent;
let poor: Agent;
/** Address of an instance that has a name in public, and relays nothing. */
let named: string;
/** An instance that reaches its database over the link alone. */
let far: Gateway;
let link: DatabaseLink;
let text: string;
let description: Description;

beforeAll(async () => {
  [rich, poor] = await Promise.all([world.agent({ balance: 1_000_000n }), world.agent()]);
  const port = await restartPort();
  await world.startAnother({ PUBLIC_URL, PORT: String(port), FEE_PAYER_KEYPAIR: "" });
  named = `http://127.0.0.1:${port}`;
  link = await openDatabaseLink(world.database.url);
  far = await world.startAnother({ DATABASE_URL: link.url });
  text = await (await fetch(`${world.gateway.baseUrl}/openapi.json`)).text();
  description = new Description(generatedPart(JSON.parse(text)));
});

afterAll(() => link.close());

/** Without the routes that refer to others or follow another protocol. */
function generatedPart({ paths, ...document }: { paths: Record<string, unknown> }): object {
  const added = /^\/(?:openai|anthropic|x402\/[a-z])/;
  const generated = Object.entries(paths).filter(([path]) => !added.test(path));
  return { ...document, paths: Object.fromEntries(generated) };
}

const get = (target: string, init: RequestInit = {}) => fetch(world.gateway.baseUrl + target, init);
const textOf = async (url: string) => (await fetch(url)).text();

/** Sends a request and expects the described response. */
async function ask(
  method: "GET" | "POST" | "PATCH" | "DELETE",
  target: string,
  caller: Agent | undefined,
  body?: unknown,
  headers: Record<string, string> = {},
  gateway: Pick<Gateway, "baseUrl"> = world.gateway,
): Promise<Answer> {
  const init = {
    method,
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  };
  const answer = await request(gateway, caller, target, init, headers);
  description.expectDescribed(method, target, body, answer);
  return answer;
}

/** How clients of the scheme Payment can pay. */
const OFFER = { method: "solana", intent: "charge", amount: null, currency: expect.any(String) };

describe("the OpenAPI document", () => {
  it("passes public linters without errors and warnings", async () => {
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({ source: text, absoluteRef: "/openapi.json", config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
      [],
    );
    await SwaggerParser.validate(JSON.parse(text));
  });

  it("fails those linters when it is made invalid", async () => {
    const broken = JSON.parse(text);
    delete broken.paths["/health"].get.responses["200"].description;
    broken.paths["/runs/{id}"].get.parameters = [];
    const config = await createConfig({ extends: ["recommended"] });
    const problems = await lintFromString({
      source: JSON.stringify(broken),
      absoluteRef: "/openapi.json",
      config,
    });
    expect(problems.map(({ ruleId }) => ruleId).sort()).toEqual(["path-parameters-defined", "struct"]);
    await expect(SwaggerParser.validate(broken)).rejects.toThrow(/./);
  });

  it("is the generated document with address, version, OpenAI routes and sold tools", async () => {
    const committed = JSON.parse(
      await readFile(path.join(import.meta.dirname, "../../gen/openapi.json"), "utf8"),
    );
    const { servers, info, paths, tags, ...rest } = JSON.parse(text);
    expect(servers).toEqual([{ url: world.gateway.baseUrl }]);
    expect(info).toEqual({ ...committed.info, version: "0.1.0" });
    const { servers: _servers, info: _info, paths: own, tags: groups, ...generated } = committed;
    expect(rest).toEqual(generated);
    const apis = ["OpenAI", "Anthropic"].map((name) => expect.objectContaining({ name }));
    expect(tags).toEqual([...groups, ...apis]);
    const {
      "/x402/vram_estimate": sold,
      "/openai/v1/models": _models,
      "/openai/v1/chat/completions": _chats,
      "/openai/v1/responses": _responses,
      "/anthropic/v1/models": _anthropic,
      "/anthropic/v1/messages": _messages,
      ...others
    } = paths;
    for (const paid of ["/v1/mcp/tools/call", "/mcp"]) {
      expect(others[paid].post["x-payment-info"]).toEqual({ offers: [expect.objectContaining(OFFER)] });
      delete others[paid].post["x-payment-info"];
    }
    expect(others).toEqual(own);
    expect(sold.post["x-payment-info"]).toMatchObject({
      price: { mode: "fixed", currency: "USD", amount: "0.001000" },
      protocols: [{ x402: { version: 2 } }],
      offers: [{ ...OFFER, amount: "1000" }],
    });
  });

  it("contains the whole error catalogue", () => {
    const { "x-errors": errors } = JSON.parse(text);
    const rows = errors.map(({ code, status }: { code: string; status: number }) => [code, status]);
    const own = Object.entries(ERRORS).map(([code, { status }]) => [code, status]);
    // Unreadable proofs and refused requests have their own status.
    const more = new Set(["INVALID_PAYMENT 400", "TOOL_FAILED 400"]);
    expect(rows.filter((row: unknown[]) => !more.has(row.join(" ")))).toEqual(own);
  });
});

describe("the gateway matches its OpenAPI document", () => {
  it("matches the document when a tool is called", async () => {
    const free = await ask("POST", CALL, rich, ECHO);
    expect(free.status).toBe(200);
    const bought = await ask("POST", CALL, rich, { ...PAID, idempotency_key: "bought" });
    expect(bought.body.receipt.paid_by).toBe("balance");
    const other = { tool: "vram_estimate", params: { model: "qwen2.5-7b" }, idempotency_key: "bought" };
    expect((await ask("POST", CALL, rich, other)).status).toBe(422);
    expect((await ask("POST", CALL, rich, { tool: "echo" })).status).toBe(400);
    expect((await ask("POST", CALL, undefined, ECHO)).status).toBe(401);
    expect((await ask("POST", CALL, rich, { tool: "teleport", params: {} })).status).toBe(404);
    expect((await ask("POST", CALL, rich, { tool: "gpu_provision", params: {} })).status).toBe(404);
    expect((await ask("POST", CALL, rich, JSON.stringify("x".repeat(70_000)))).status).toBe(413);
    expect((await ask("POST", CALL, rich, "tool=echo", { "content-type": "text/plain" })).status).toBe(415);
    const scopeless = await world.agent({ scopes: [] });
    expect((await ask("POST", CALL, scopeless, PAID)).status).toBe(403);
    expect((await ask("GET", "/receipts", scopeless)).status).toBe(403);
    expect((await ask("GET", "/receipts/rcpt_0", scopeless)).status).toBe(403);
    expect((await ask("GET", "/runs", scopeless)).status).toBe(403);
    expect((await ask("GET", "/runs/run_0", scopeless)).status).toBe(403);
  });

  it("matches the document when a call is paid on the chain", async () => {
    const offer = await ask("POST", CALL, poor, PAID);
    expect(offer.body.code).toBe("PAYMENT_REQUIRED");
    const { quote } = offer.body;
    const unreadable = await ask("POST", CALL, poor, PAID, { "X-Payment": "not base64!" });
    expect(unreadable.body.code).toBe("INVALID_PAYMENT");
    const another = await world.pay(rich, 1n, "nothing of ours");
    const refused = await ask("POST", CALL, poor, PAID, xPayment(another, quote.quote_id));
    expect([refused.status, refused.body.code]).toEqual([402, "INVALID_PAYMENT"]);
    const tx = await world.pay(poor, 1000n, memoOf(quote));
    const paid = await ask("POST", CALL, poor, PAID, xPayment(tx, quote.quote_id));
    expect(paid.body.receipt.tx_signature).toBe(tx);
  });

  it("matches the document when a wallet buys a call without a key", async () => {
    const route = "/x402/vram_estimate";
    const payer = await x402Payer(world);
    const buy = (body: unknown, headers: Record<string, string> = {}, path = route, gateway?: Gateway) =>
      ask("POST", path, undefined, body, headers, gateway);
    const offer = (await buy(PAID.params)).headers.get("payment-required") ?? "";
    const proof = { "PAYMENT-SIGNATURE": await payer.sign(offer) };
    expect((await buy(PAID.params, proof)).body.receipt.paid_by).toBe("gasless");
    expect((await buy({ model: 7 })).status).toBe(402);
    expect((await buy({ model: 7 }, proof)).status).toBe(400);
    expect((await buy(ECHO.params, {}, "/x402/echo")).status).toBe(401);
    expect((await buy(PAID.params, {}, "/x402/teleport")).status).toBe(404);
    expect((await buy(JSON.stringify("x".repeat(70_000)))).status).toBe(413);
    expect((await buy("model=1", { "content-type": "text/plain", ...proof })).status).toBe(415);
    const costly = await world.startAnother({ GASLESS_MINIMUM_MICROUSD: "1000000" });
    expect((await buy(PAID.params, {}, route, costly)).status).toBe(403);
    link.cut();
    expect((await buy(PAID.params, proof, route, far)).status).toBe(503);
    link.mend();
  });

  it("matches the document when a wallet manages its API keys", async () => {
    const [keys, wallet] = ["/v1/keys", Keypair.generate()];
    const { accountId } = await world.postgres.accounts.create(wallet.publicKey.toBase58());
    const sign = async (
      requestId: string,
      target: string,
      gateway: Pick<Gateway, "baseUrl"> = world.gateway,
    ) => {
      const { status, headers } = await ask("GET", keys, undefined, undefined, {}, gateway);
      expect(status).toBe(401);
      const { extensions } = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
      const { info, supportedChains } = JSON.parse(JSON.stringify(extensions?.["sign-in-with-x"]));
      const uri = gateway.baseUrl + target;
      const payload = { ...info, ...supportedChains[0], uri, requestId };
      return {
        "SIGN-IN-WITH-X": encodeSIWxHeader(await createSIWxPayload(payload, await walletSigner(wallet), uri)),
      };
    };
    const { key } = (await ask("POST", keys, undefined, { name: "a" }, await sign("POST", keys))).body;
    const one = `${keys}/${key.key_id}`;
    const all = (headers: Record<string, string>, gateway?: Pick<Gateway, "baseUrl">) =>
      Promise.all([
        ask("GET", keys, undefined, undefined, headers, gateway),
        ask("POST", keys, undefined, {}, headers, gateway),
        ask("DELETE", one, undefined, undefined, headers, gateway),
        ask("PATCH", one, undefined, {}, { ...headers, ...JSON_BODY }, gateway),
      ]);
    const statuses = async (...request: Parameters<typeof all>) =>
      (await all(...request)).map(({ status }) => status);
    expect((await ask("GET", keys, undefined, undefined, await sign("GET", keys))).body.keys).toEqual([key]);
    const change = async (target: string, body: unknown = { name: "b" }, headers = {}) =>
      (
        await ask("PATCH", target, undefined, body, {
          ...(await sign("PATCH", target)),
          ...JSON_BODY,
          ...headers,
        })
      ).status;
    expect(await change(one)).toBe(200);
    expect(await change(one, { names: "b" })).toBe(400);
    expect(await change(one, JSON.stringify("x".repeat(70_000)))).toBe(413);
    expect(await change(one, "a", { "Content-Type": "text/plain" })).toBe(415);
    expect((await ask("DELETE", one, undefined, undefined, await sign("DELETE", one))).status).toBe(200);
    const none = `${keys}/key_none`;
    expect(await change(none)).toBe(404);
    expect((await ask("DELETE", none, undefined, undefined, await sign("DELETE", none))).status).toBe(404);
    expect(await statuses({})).toEqual([401, 401, 401, 401]);
    expect(await statuses({}, { baseUrl: named })).toEqual([404, 404, 404, 404]);
    expect((await ask("POST", keys, undefined, { names: "a" })).status).toBe(400);
    expect((await ask("DELETE", `${one}?x=1`, undefined)).status).toBe(400);
    expect((await ask("POST", keys, undefined, JSON.stringify("x".repeat(70_000)))).status).toBe(413);
    expect((await ask("POST", keys, undefined, "a", { "content-type": "text/plain" })).status).toBe(415);
    const signed = await sign("GET", keys, far);
    link.cut();
    expect(await statuses(signed, far)).toEqual([503, 503, 503, 503]);
    link.mend();
    await world.postgres.accounts.setBlocked(accountId, { blocked: true, reason: "test" });
    expect(await statuses(await sign("GET", keys))).toEqual([403, 403, 403, 403]);
  });

  it("matches the document when another service's payment is settled", async () => {
    const operator = await world.agent({ operator: true });
    const on = await world.startAnother({ FACILITATOR: "on" });
    const bodies = ["/verify", "/settle"] as const;
    const statuses = async (
      caller: Agent | undefined,
      gateway: Pick<Gateway, "baseUrl"> = on,
      query = "",
    ) => {
      const answers = [ask("GET", `/supported${query}`, caller, undefined, {}, gateway)];
      for (const path of bodies) answers.push(ask("POST", path + query, caller, {}, {}, gateway));
      return (await Promise.all(answers)).map(({ status }) => status);
    };
    expect(await statuses(operator)).toEqual([200, 200, 200]);
    expect(await statuses(operator, on, "?x=1")).toEqual([200, 400, 400]);
    expect(await statuses(undefined)).toEqual([401, 401, 401]);
    expect(await statuses(rich)).toEqual([403, 403, 403]);
    expect(await statuses(operator, world.gateway)).toEqual([404, 404, 404]);
    for (const path of bodies) {
      expect((await ask("POST", path, operator, JSON.stringify("x".repeat(70_000)))).status).toBe(413);
      expect((await ask("POST", path, operator, "a", { "content-type": "text/plain" })).status).toBe(415);
    }
    const hasty = await world.agent({ operator: true, ratePerMinute: 1, burst: 1 });
    await ask("GET", "/supported", hasty, undefined, {}, on);
    expect(await statuses(hasty)).toEqual([429, 429, 429]);
    link.cut();
    expect(await statuses(operator, far)).toEqual([503, 503, 503]);
    link.mend();
  });

  it("matches the document when webhooks are managed", async () => {
    const hooks = "/v1/webhooks";
    const owner = await world.agent({ scopes: ["billing:write"] });
    const wished = { url: "https://hooks.example/", types: ["balance.low"] };
    const { endpoint } = (await ask("POST", hooks, owner, wished)).body;
    const one = `${hooks}/${endpoint.endpoint_id}`;
    const bodies = [
      ["POST", hooks, wished],
      ["PATCH", one, { enabled: true }],
      ["POST", `${one}/rotate`, {}],
      ["POST", `${one}/test`, {}],
      ["POST", `${one}/replay`, { since: "2026-01-01T00:00:00Z" }],
    ] as const;
    const others = [
      ["GET", hooks, undefined],
      ["GET", `${one}/attempts`, undefined],
      ["DELETE", one, undefined],
    ] as const;
    const statuses = async (caller: Agent | undefined, gateway?: Pick<Gateway, "baseUrl">, query = "") => {
      const seen = new Set<number>();
      for (const [method, target, body] of [...bodies, ...others])
        seen.add((await ask(method, target + query, caller, body, JSON_BODY, gateway)).status);
      return [...seen];
    };
    for (const [method, target] of bodies) {
      expect((await ask(method, target, owner, JSON.stringify("x".repeat(70_000)), JSON_BODY)).status).toBe(
        413,
      );
      expect((await ask(method, target, owner, "a", { "content-type": "text/plain" })).status).toBe(415);
    }
    expect(await statuses(undefined)).toEqual([401]);
    expect(await statuses(await world.agent())).toEqual([403]);
    expect(await statuses(owner, undefined, "?x=1")).toEqual([400]);
    const hasty = await world.agent({ ratePerMinute: 1, burst: 1 });
    await ask("GET", hooks, hasty);
    expect(await statuses(hasty)).toEqual([429]);
    link.cut();
    expect(await statuses(owner, far)).toEqual([503]);
    link.mend();
    expect(await statuses(owner)).toEqual([200]);
    // Of the deleted one.
    expect(await statuses(owner)).toEqual([200, 404]);
  });

  it("matches the document when a call is priced", async () => {
    expect((await ask("POST", PRICE, poor, PAID)).status).toBe(200);
    expect((await ask("POST", PRICE, poor, { tool: "echo" })).status).toBe(400);
    expect((await ask("POST", PRICE, undefined, PAID)).status).toBe(401);
    expect((await ask("POST", PRICE, await world.agent({ scopes: [] }), PAID)).status).toBe(403);
    expect((await ask("POST", PRICE, poor, { tool: "teleport", params: {} })).status).toBe(404);
    expect((await ask("POST", PRICE, poor, JSON.stringify("x".repeat(70_000)))).status).toBe(413);
    expect((await ask("POST", PRICE, poor, "tool=echo", { "content-type": "text/plain" })).status).toBe(415);
  });

  it("matches the document when a paying transaction is built", async () => {
    const build = (
      caller: Agent | undefined,
      body: unknown,
      headers?: Record<string, string>,
      gateway?: Gateway,
    ) => ask("POST", BUILD, caller, body, headers, gateway);
    const { quote } = (await ask("POST", CALL, poor, PAID)).body;
    const payer = poor.wallet.publicKey.toBase58();
    const built = await build(poor, { quote_id: quote.quote_id, payer });
    expect(built.status).toBe(200);
    expect((await build(poor, { quote_id: quote.quote_id })).status).toBe(400);
    expect((await build(undefined, { quote_id: quote.quote_id, payer })).status).toBe(401);
    expect((await build(poor, JSON.stringify("x".repeat(70_000)))).status).toBe(413);
    expect((await build(poor, "quote_id=1", { "content-type": "text/plain" })).status).toBe(415);
  });

  it("matches the document when receipts and runs are read", async () => {
    const receipts = await ask("GET", "/receipts?limit=1", poor);
    const [receipt] = receipts.body.items;
    expect((await ask("GET", `/receipts/${receipt.receipt_id}`, poor)).body).toEqual(receipt);
    const runs = await ask("GET", "/runs?status=completed", poor);
    const [run] = runs.body.items;
    expect((await ask("GET", `/runs/${run.run_id}`, poor)).body).toEqual(run);
    for (const list of ["/receipts", "/runs"]) {
      expect((await ask("GET", `${list}?limit=0`, poor)).status).toBe(400);
      expect((await ask("GET", list, undefined)).status).toBe(401);
      expect((await ask("GET", `${list}/none`, poor)).status).toBe(404);
      expect((await ask("GET", `${list}/none`, undefined)).status).toBe(401);
      expect((await ask("GET", `${list}/%zz`, poor)).status).toBe(400);
    }
  });

  it("matches the document over the Model Context Protocol", async () => {
    const rpc = (method: string, params?: object, id: number | undefined = 1) =>
      ask("POST", "/mcp", poor, {
        jsonrpc: "2.0",
        ...(id !== undefined && { id }),
        method,
        ...(params && { params }),
      });
    expect((await rpc("tools/list")).body.result.tools).not.toEqual([]);
    expect(
      (await rpc("tools/call", { name: "echo", arguments: { message: "hi" } })).body.result,
    ).toBeDefined();
    const offer = await rpc("tools/call", { name: PAID.tool, arguments: PAID.params });
    expect(offer.status).toBe(402);
    expect((await rpc("no/such")).body.error).toBeDefined();
    const version = "2026-07-28";
    const about = {
      protocolVersion: version,
      clientInfo: { name: "test", version: "1" },
      clientCapabilities: {},
    };
    const _meta = Object.fromEntries(
      Object.entries(about).map(([k, v]) => [`io.modelcontextprotocol/${k}`, v]),
    );
    const modern = (method: string) =>
      ask(
        "POST",
        "/mcp",
        poor,
        { jsonrpc: "2.0", id: 1, method, params: { _meta } },
        { "mcp-protocol-version": version, "mcp-method": method },
      );
    expect((await modern("server/discover")).body.result.supportedVersions).toContain(version);
    expect((await modern("no/such")).status).toBe(404);
    const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "ping" }));
    const pongs = await ask("POST", "/mcp", poor, batch, { "mcp-protocol-version": "2025-03-26" });
    expect(pongs.body).toHaveLength(2);
    const notification = { jsonrpc: "2.0", method: "notifications/initialized" };
    expect((await ask("POST", "/mcp", poor, notification)).status).toBe(202);
    expect((await ask("POST", "/mcp", poor, ECHO)).body.ok).toBe(true);
    expect((await ask("POST", "/mcp", poor, PAID)).body.code).toBe("PAYMENT_REQUIRED");
    expect((await ask("POST", "/mcp", poor, "{")).status).toBe(400);
    expect((await ask("POST", "/mcp", undefined, ECHO)).status).toBe(401);
    expect((await ask("POST", "/mcp", poor, { tool: "teleport", params: {} })).status).toBe(404);
    const other = { tool: "vram_estimate", params: { model: "qwen2.5-7b" }, idempotency_key: "mcp" };
    expect((await ask("POST", "/mcp", rich, { ...PAID, idempotency_key: "mcp" })).status).toBe(200);
    expect((await ask("POST", "/mcp", rich, other)).status).toBe(422);
    expect((await ask("POST", "/mcp", rich, ECHO, { origin: "http://elsewhere.example" })).status).toBe(403);
    expect((await ask("POST", "/mcp", rich, JSON.stringify("x".repeat(70_000)))).status).toBe(413);
    expect((await ask("POST", "/mcp", rich, "tool=echo", { "content-type": "text/plain" })).status).toBe(415);
  });

  it("matches the document for the catalogue and health without a key", async () => {
    expect((await ask("GET", "/mcp/capabilities", undefined)).body.tools).not.toEqual([]);
    expect((await ask("GET", "/mcp/capabilities", rich)).status).toBe(200);
    expect((await ask("GET", "/mcp/capabilities", { ...rich, apiKey: "sk-agent-no" })).status).toBe(401);
    expect((await ask("GET", "/health", undefined)).status).toBe(200);
  });

  it("matches the document when an account is blocked", async () => {
    const blocked = await world.agent();
    await world.postgres.accounts.setBlocked(blocked.accountId, { blocked: true, reason: "test" });
    for (const target of ["/mcp/capabilities", "/receipts", "/receipts/none", "/runs", "/runs/none"])
      expect((await ask("GET", target, blocked)).status).toBe(403);
    for (const target of [CALL, "/mcp", PRICE, BUILD])
      expect((await ask("POST", target, blocked, ECHO)).status).toBe(403);
  });

  it("matches the document at the rate limit and while the database is unreachable", async () => {
    const hasty = await world.agent({ ratePerMinute: 1, burst: 1 });
    await ask("GET", "/mcp/capabilities", hasty);
    const targets = ["/mcp/capabilities", "/receipts", "/receipts/none", "/runs", "/runs/none"];
    for (const target of targets) expect((await ask("GET", target, hasty)).status).toBe(429);
    for (const target of [CALL, "/mcp", PRICE, BUILD])
      expect((await ask("POST", target, hasty, ECHO)).status).toBe(429);
    link.cut();
    const unseen = await world.agent();
    const answers = await Promise.all([
      ask("GET", "/mcp/capabilities", unseen, undefined, {}, far),
      ...["/health", ...targets.slice(1)].map((target) => ask("GET", target, rich, undefined, {}, far)),
      ...[CALL, "/mcp", PRICE, BUILD].map((target) => ask("POST", target, rich, PAID, {}, far)),
    ]);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 503));
    link.mend();
  });

  it("covers every documented response except those caused by time or chance", () => {
    const rare = / (409|499|500)$|transaction 402$|tool} (422|429)$|(keys|key_id}) 429$/;
    // Without body and parameters only malformed HTTP is refused.
    const malformed = /^GET \/(health|mcp\/capabilities|v1\/keys|supported) 400$/;
    const left = description.unseen().filter((line) => !rare.test(line) && !malformed.test(line));
    expect(left).toEqual([]);
  });
});

describe.each([
  ["/openapi.json", "application/json"],
  ["/llms.txt", "text/markdown; charset=utf-8"],
  ["/.well-known/x402", "application/json"],
  ["/.well-known/did.json", "application/did+json"],
])("%s", (path, mediaType) => {
  it("is public for every origin, and ignores keys", async () => {
    const answer = await get(path, {
      headers: { origin: "https://a.example", authorization: "Bearer sk-agent-no" },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe(mediaType);
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");
    expect(answer.headers.get("x-request-id")).toMatch(/^req_/);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("is cacheable and revalidated only when changed", async () => {
    const first = await get(path);
    const etag = first.headers.get("etag") ?? "";
    expect(first.headers.get("cache-control")).toMatch(/^public, max-age=\d+$/);
    expect(etag).toMatch(/^"[\w-]+"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await get(path, { headers: { "if-none-match": known } });
      expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    }
    const changed = await get(path, { headers: { "if-none-match": '"other"' } });
    expect([changed.status, await changed.text()]).toEqual([200, await first.text()]);
  });

  it("answers HEAD like GET without the body, and ignores a query", async () => {
    const [head, whole] = await Promise.all([get(path, { method: "HEAD" }), get(`${path}?v=1`)]);
    expect(await head.text()).toBe("");
    for (const name of ["etag", "content-length", "content-type"]) {
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
    }
  });

  it("returns 405 for other methods, and OPTIONS lists the allowed ones", async () => {
    const posted = await get(path, { method: "POST", body: "{}" });
    const answer = { status: posted.status, headers: posted.headers, body: await posted.json() };
    expectError(answer, 405, "METHOD_NOT_ALLOWED", /GET, HEAD/);
    expect(posted.headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    const options = await get(path, {
      method: "OPTIONS",
      headers: { "access-control-request-method": "GET" },
    });
    expect([options.status, options.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "GET, HEAD, OPTIONS",
    ]);
  });

  it("names the gateway by its public address", async () => {
    const [here, elsewhere] = await Promise.all([textOf(world.gateway.baseUrl + path), textOf(named + path)]);
    expect(here).toContain(world.gateway.baseUrl);
    // An instance that relays nothing sells nothing to wallets.
    if (path !== "/.well-known/x402") expect(elsewhere).toContain(PUBLIC_URL);
    expect(elsewhere).not.toContain("127.0.0.1");
  });
});
