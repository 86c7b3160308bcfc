import { z } from "zod";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ServerResponse } from "node:http";
import type { Gateway } from "../../src/gateway.ts";
import { query } from "../support/database-server.ts";
import { memoOf, startWorld, xPayment, type Agent, type World } from "../support/world.ts";
import {
  json,
  openapi,
  operation,
  startThirdParty,
  type ThirdParty,
} from "../tools/custom/http/third-party.ts";

const WITHIN = { timeout: 60_000, interval: 20 };

const verbose = z.object({
  checks: z.object({ config: z.object({ version: z.number(), newest: z.number() }) }),
});

let world: World;
let another: Gateway;
let party: ThirdParty;
let agent: Agent;

beforeAll(async () => {
  party = await startThirdParty();
  world = await startWorld();
  another = await world.startAnother();
  agent = await world.agent({ balance: 10_000_000n });
});
afterAll(async () => {
  await world.close();
  await party.close();
});

/** A document with a tool `note` at this price; its OpenAPI document is stored with it. */
function documentOf(microUsd: number, entry: object = {}): string {
  const paths = { "/notes": { get: operation("note") } };
  const described = JSON.stringify(openapi(paths, { servers: [{ url: party.url }] }));
  const tool = {
    name: "note",
    price: { flat_microusd: microUsd },
    allow_hosts: ["127.0.0.1"],
    http: { openapi: "notes.json", operation_id: "note" },
    ...entry,
  };
  return JSON.stringify({
    tools: [tool],
    files: { "notes.json": Buffer.from(described).toString("base64") },
  });
}

async function apply(document: string): Promise<number> {
  const applied = { document, source: "apply", actor: "test", note: undefined, expected: undefined } as const;
  return (await world.postgres.configVersions.apply(applied)).version;
}

async function inUse(gateway: Gateway): Promise<{ version: number; newest: number }> {
  const response = await fetch(`${gateway.baseUrl}/readyz?verbose`);
  expect(response.status).toBe(200);
  return verbose.parse(await response.json()).checks.config;
}

/** Applies a document and waits until both instances use it. */
async function switchTo(document: string): Promise<number> {
  const version = await apply(document);
  await vi.waitFor(async () => {
    const used = await Promise.all([world.gateway, another].map(inUse));
    expect(used).toEqual([version, version].map((one) => ({ version: one, newest: one })));
  }, WITHIN);
  return version;
}

async function callNote(gateway: Gateway): Promise<number> {
  const response = await fetch(`${gateway.baseUrl}/v1/mcp/tools/call`, {
    method: "POST",
    headers: { Authorization: `Bearer ${agent.apiKey}`, "Content-Type": "application/json" },
    body: JSON.stringify({ tool: "note", params: {} }),
  });
  await response.text();
  return response.status;
}

describe("a change of the configuration in force", () => {
  it("prices every call by the version of its run, under load on two instances", async () => {
    const prices = new Map([[await switchTo(documentOf(100)), 100]]);
    expect(await callNote(another)).toBe(200);
    const loading = new AbortController();
    const callers = [world.gateway, another, world.gateway, another].map(async (gateway) => {
      while (!loading.signal.aborted) expect(await callNote(gateway)).toBe(200);
    });
    for (const price of [200, 300]) {
      prices.set(await switchTo(documentOf(price)), price);
      expect(await callNote(another)).toBe(200);
    }
    loading.abort();
    await Promise.all(callers);
    const { rows } = await query(
      world.database.url,
      `select run.config_version as version, receipt.quoted
       from run join receipt on run_id = run.id group by 1, 2 order by 1`,
    );
    expect(rows.map((row) => [row.version, Number(row.quoted)])).toEqual([...prices]);
    // The backend of a tool whose price alone changes is kept.
    expect(party.connections).toBeLessThanOrEqual(8);
  });

  it("keeps the price of a quote", async () => {
    await switchTo(documentOf(1_000));
    const poor = await world.agent();
    const asked = await world.call(poor, "note", {});
    expect(asked.body.quote.price_usdc_microusd).toBe(1_000);
    const version = await switchTo(documentOf(9_000));
    const tx = await world.pay(poor, 1_000n, memoOf(asked.body.quote));
    const paid = await world.call(poor, "note", {}, { headers: xPayment(tx, asked.body.quote.quote_id) });
    expect(paid.status).toBe(200);
    expect(paid.body.receipt).toMatchObject({ debited_usdc_microusd: 1_000 });
    const { rows } = await query(
      world.database.url,
      "select config_version, price from run where quote_id is not null",
    );
    expect(rows.map((row) => [row.config_version, Number(row.price)])).toEqual([[version, 1_000]]);
  });

  it("lets calls end with the version they started with, and then closes its connections", async () => {
    await switchTo(documentOf(100, { timeout_ms: 60_000 }));
    const waiting: ServerResponse[] = [];
    party.answer = (response) => void waiting.push(response);
    const running = callNote(world.gateway);
    await vi.waitFor(() => expect(waiting).toHaveLength(1), WITHIN);
    const closed = new Promise((resolve) => waiting[0]?.socket?.on("close", resolve));
    await switchTo("{}");
    expect(await callNote(another)).toBe(404);
    party.answer = (response) => json(response, 200, { fine: true });
    for (const response of waiting) json(response, 200, { fine: true });
    expect(await running).toBe(200);
    await closed;
  });

  it("is not made by an instance that cannot use the version; it is ready with the one before", async () => {
    const before = await switchTo(documentOf(100));
    const newest = await apply(documentOf(200, { headers_env: { "X-Key": "NEVER_SET" } }));
    await vi.waitFor(async () => expect(await inUse(another)).toEqual({ version: before, newest }), WITHIN);
    expect(await callNote(another)).toBe(200);
    await switchTo(documentOf(300));
  });

  it("stores nothing for the document in force", async () => {
    const version = await switchTo(documentOf(77));
    expect(await apply(documentOf(77))).toBe(version);
  });

  it("lets one of two operators win who planned against the same version", async () => {
    const expected = await switchTo(documentOf(100));
    const outcomes = await Promise.all(
      [500, 600].map((price) =>
        world.postgres.configVersions.apply({
          document: documentOf(price),
          source: "apply",
          actor: "test",
          note: undefined,
          expected,
        }),
      ),
    );
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["applied", "conflict"]);
    expect(outcomes.map(({ version }) => version)).toEqual([expected + 1, expected + 1]);
  });
});
