import { base58 } from "@scure/base";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { routes } from "#gen/toolgate/v1/index_http.ts";
import { rawRequest } from "../support/raw-http.ts";
import { useWorld } from "../support/use-world.ts";
import { type Agent } from "../support/world.ts";
import { type Base, bytesOf, type FuzzRequest, nearValid } from "./arbitrary-request.ts";
import { expectWellBehaved } from "./well-behaved.ts";

/**
 * Every route of the contract with nearly valid requests. On a failure, fast-check prints the seed and the
 * smallest failing requests; FUZZ_SEED repeats them, FUZZ_RUNS sets the number of runs.
 */
const RUNS = Number(process.env["FUZZ_RUNS"] ?? 300);
const SEED = process.env["FUZZ_SEED"] === undefined ? {} : { seed: Number(process.env["FUZZ_SEED"]) };

const VRAM = { model: "llama-3.1-8b", context_length: 4096, dtype: "float16" };

const world = useWorld({ PAYMENT_WAIT_MS: "0" });
let agent: Agent;
let bases: Base[];

beforeAll(async () => {
  agent = await world.agent();
  const { quote } = (await world.call(agent, "vram_estimate", VRAM)).body;
  const funds = { amount: 900_000_000n, reason: "test", idempotencyKey: "fund" };
  await world.postgres.accounts.adjust({ accountId: agent.accountId, ...funds });
  const { receipt } = (await world.call(agent, "vram_estimate", VRAM)).body;
  bases = basesWith(receipt.receipt_id, receipt.run_id, quote.quote_id);
});

describe("every route", () => {
  it("answers valid requests as documented", async () => {
    for (const base of bases) {
      const query = new URLSearchParams(base.query ?? []).toString();
      const headers: [string, string][] = [["Authorization", `Bearer ${agent.apiKey}`]];
      if (base.body !== undefined) headers.push(["Content-Type", "application/json"]);
      const target = base.path + (query === "" ? "" : `?${query}`);
      const body = base.body === undefined ? undefined : JSON.stringify(base.body);
      const [answer] = await exchange({ method: base.method, target, headers, body });
      expect(answer?.status, `${base.method} ${target}: ${answer?.body}`).toBe(base.status ?? 200);
    }
  });

  it("answers nearly valid requests with a documented status and error body, and keeps working", async () => {
    const requests = fc.array(
      nearValid(
        [...bases, ...bareRequests(bases)],
        [...Array<string>(12).fill(`Bearer ${agent.apiKey}`), "Bearer sk-agent-unknown", "Basic YTpi", ""],
      ),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(requests, async (several) => {
        await Promise.all(several.map(isWellBehaved));
        expect((await fetch(`${world.gateway.baseUrl}/health`)).status).toBe(200);
      }),
      { numRuns: RUNS, ...SEED, interruptAfterTimeLimit: 25_000 },
    );
  });
});

/** Returns a request without parameters for each route that has no good request. */
function bareRequests(known: readonly Base[]): Base[] {
  return routes
    .flatMap((service) => service.routes)
    .filter(({ httpMethod, pattern }) => {
      const like = new RegExp(`^${pattern.replace(/\{[^}]*\}/g, "[^/]+")}$`);
      return !known.some(({ method, path }) => method === httpMethod && like.test(path));
    })
    .map(({ httpMethod, pattern, body }) => ({
      method: httpMethod,
      path: pattern.replace(/\{[^}]*\}/g, "x"),
      ...(body !== "" && { body: {} }),
    }));
}

async function isWellBehaved(request: FuzzRequest): Promise<void> {
  const answers = await exchange(request);
  // Before the answer there may be a 100 Continue.
  const answer = answers.at(-1);
  if (!answer) throw new Error("no answer");
  const { status, headers, body } = answer;
  expectWellBehaved({
    status,
    body: request.method === "HEAD" ? "" : Buffer.from(body, "latin1").toString(),
    headers: { get: (name) => headers[name] },
  });
}

function exchange(request: FuzzRequest) {
  return rawRequest(world.gateway.baseUrl, { pieces: [bytesOf(request)], waitMs: 10_000 });
}

function basesWith(receiptId: string, runId: string, quoteId: string): Base[] {
  /** Valid but unknown to the chain: 402 after a lookup. */
  const proof = {
    tx_ref: base58.encode(new Uint8Array(64).fill(7)),
    network: "solana-mainnet",
    quote_id: quoteId,
    memo: `svc:${quoteId}`,
    amount_usdc: "0.001",
  };
  const rpc = (method: string, params: NonNullable<Base["body"]>): Base => ({
    method: "POST",
    path: "/mcp",
    body: { jsonrpc: "2.0", id: 1, method, params },
  });
  const tool = (path: string, body: NonNullable<Base["body"]>): Base => ({ method: "POST", path, body });
  return [
    ...["/v1/mcp/tools/call", "/mcp"].flatMap((path) => [
      tool(path, { tool: "echo", params: { message: "hi" } }),
      tool(path, { tool: "echo", params: { message: "hi" }, idempotency_key: "k" }),
      tool(path, { tool: "get_status", params: {} }),
      tool(path, { tool: "vram_estimate", params: VRAM }),
      tool(path, { tool: "vram_estimate", params: VRAM, idempotency_key: "paid" }),
      { ...tool(path, { tool: "vram_estimate", params: VRAM, payment_proof: proof }), status: 402 },
    ]),
    rpc("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "fuzz", version: "1" },
    }),
    rpc("ping", {}),
    rpc("tools/list", {}),
    rpc("tools/call", { name: "echo", arguments: { message: "hi" } }),
    rpc("tools/call", { name: "vram_estimate", arguments: VRAM }),
    { method: "GET", path: "/mcp/capabilities" },
    {
      method: "GET",
      path: "/receipts",
      query: [
        ["limit", "5"],
        ["status", "final"],
      ],
    },
    { method: "GET", path: `/receipts/${receiptId}` },
    {
      method: "GET",
      path: "/runs",
      query: [
        ["limit", "5"],
        ["status", "completed"],
      ],
    },
    { method: "GET", path: `/runs/${runId}` },
    { method: "GET", path: "/health" },
  ];
}
