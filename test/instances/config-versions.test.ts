import { z } from "zod";
import { describe, expect, it } from "vitest";
import type { ServerResponse } from "node:http";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import type { NewConfigVersion } from "../../src/app/operations/config-versions.ts";
import { parseDocument } from "../../src/config/document.ts";
import type { Gateway } from "../../src/gateway.ts";
import { StoredConfigAdmin } from "../../src/gateway/config-admin.ts";
import { runToolgateHere } from "../cli/toolgate.ts";
import { query } from "../support/database-server.ts";
import { memoOf, request, startWorld, xPayment, type Agent } from "../support/world.ts";
import { startLyingServer } from "../tools/custom/mcp/servers.ts";
import {
  documentFolder,
  json,
  openapi,
  operation,
  startThirdParty,
} from "../tools/custom/http/third-party.ts";
import { closing } from "../support/postgres.ts";
import { useOperator } from "../transport/services/operator.ts";

/** So rarely that the switches of these tests are made by notifications. */
const NO_POLL = { CONFIG_POLL_MS: "600000" };
/** The poll bound of instances that miss notifications, ms. */
const POLL_MS = 500;

const OFTEN = { interval: 20 };

const verbose = z.object({
  checks: z.object({ config: z.object({ version: z.number(), newest: z.number() }) }),
});

const party = closing(await startThirdParty());
const world = closing(await startWorld(NO_POLL));
const another = await world.startAnother();
const agent = await world.agent({ balance: 10_000_000n });
const { call } = useOperator(world);
const { applyConfig, rollBackConfig } = OperationsService.method;
const admin = new StoredConfigAdmin({ versions: world.postgres.configVersions, environment: () => ({}) });

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
  return (await world.postgres.configVersions.apply(newVersion(document, undefined))).version;
}

function newVersion(document: string, expected: number | undefined): NewConfigVersion {
  const { tiers } = parseDocument(document, "document").content;
  return { document, source: "apply", actor: "test", note: undefined, expected, tiers };
}

async function inUse(gateway: Gateway): Promise<{ version: number; newest: number }> {
  const response = await fetch(`${gateway.baseUrl}/readyz?verbose`);
  expect(response.status).toBe(200);
  return verbose.parse(await response.json()).checks.config;
}

/** Applies a document and waits until both instances use it. */
async function switchTo(document: string): Promise<number> {
  const version = await apply(document);
  const used = () => Promise.all([world.gateway, another].map(inUse));
  await expect.poll(used, OFTEN).toEqual([version, version].map((one) => ({ version: one, newest: one })));
  return version;
}

/** Requests per minute that an instance grants each key of an account. */
async function limitOf(gateway: Gateway, holder: Agent): Promise<number> {
  const { headers } = await request(gateway, holder, "/v1/mcp/tools/call", ECHO);
  return Number(headers.get("x-ratelimit-limit"));
}

const ECHO = { method: "POST", body: JSON.stringify({ tool: "echo", params: { message: "" } }) };

async function callNote(gateway: Gateway): Promise<number> {
  return (await request(gateway, agent, "/v1/mcp/tools/call", NOTE)).status;
}

const NOTE = { method: "POST", body: JSON.stringify({ tool: "note", params: {} }) };

const started = (response: Awaited<ReturnType<typeof request>>) =>
  Number(response.body.receipt.debited_usdc_microusd);

/** Runs while no change of the configuration is notified. */
async function withoutNotifications(run: () => Promise<void>): Promise<void> {
  await query(world.database.url, "alter table config_version disable trigger config_version_notice");
  try {
    await run();
  } finally {
    await query(world.database.url, "alter table config_version enable trigger config_version_notice");
  }
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
    await expect.poll(() => waiting, OFTEN).toHaveLength(1);
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
    const newest = await apply(documentOf(200, { headers_env: { "X-Key": "TOOL_NEVER_SET" } }));
    await expect.poll(() => inUse(another), OFTEN).toEqual({ version: before, newest });
    expect(await callNote(another)).toBe(200);
    await switchTo(documentOf(300));
  });

  it("is made although a tool cannot be described, which alone is unavailable and says why", async () => {
    const lying = await startLyingServer(() => {}, {
      name: "odd",
      inputSchema: { type: "object", properties: 5 },
    });
    try {
      const odd = {
        name: "odd",
        price: { flat_microusd: 10 },
        allow_hosts: ["127.0.0.1"],
        mcp: { url: lying.url, tool: "odd" },
      };
      const both = (price: number) => {
        const { tools, ...rest } = JSON.parse(documentOf(price));
        return JSON.stringify({ ...rest, tools: [...tools, odd] });
      };
      const listed = async () => (await world.get(undefined, "/mcp/capabilities")).body.tools.at(-1);
      await switchTo(both(100));
      const reason = expect.stringMatching(/^its server describes it in a way .*schema is invalid/);
      await expect.poll(listed, OFTEN).toMatchObject({ name: "odd", unavailable_reason: reason });
      // The server is known by now, and its description is shared with the next version.
      const version = await switchTo(both(200));
      expect(await admin.awaitSwitch(version, 5_000)).toEqual({ live: 2, behind: [] });
      for (const gateway of [world.gateway, another])
        expect(started(await request(gateway, agent, "/v1/mcp/tools/call", NOTE))).toBe(200);
      expect(await listed()).toMatchObject({ status: "coming_soon", unavailable_reason: reason });
      const refused = await world.call(agent, "odd", {});
      expect([refused.status, refused.body.message]).toEqual([
        404,
        expect.stringContaining("cannot be called: its server describes it in a way that cannot be used"),
      ]);
    } finally {
      lying.close();
    }
  });

  it("is waited for by config apply, which lists the instances that cannot use it", async () => {
    const before = await switchTo(documentOf(100));
    using folder = documentFolder();
    const run = (document: string) =>
      runToolgateHere({ DATABASE_URL: world.database.servingUrl }, [
        ...["config", "apply", folder.write("d.json", document), "--wait", "2s", "--json"],
      ]);
    const instance = expect.stringMatching(/^[0-9a-f-]{36}$/);
    const good = await run(documentOf(200));
    expect([good.code, good.rows[0]]).toEqual([0, expect.objectContaining({ instances: 2, behind: [] })]);
    const unusable = documentOf(300, { headers_env: { "X-Key": "TOOL_NEVER_SET" } });
    const bad = await run(unusable);
    const behind = { instance, version: before + 1 };
    expect([bad.code, bad.rows[0]]).toEqual([4, expect.objectContaining({ behind: [behind, behind] })]);
  });

  it("is waited for by ApplyConfig and RollBackConfig too, up to a limit", async () => {
    const before = await switchTo(documentOf(100));
    const unusable = documentOf(300, { headers_env: { "X-Key": "TOOL_NEVER_SET" } });
    const applied = await call(applyConfig, { document: unusable, waitSeconds: 1 });
    const behind = { instance: expect.stringMatching(/^[0-9a-f-]{36}$/), version: before };
    expect(applied).toMatchObject({ version: before + 1, instances: 2, behind: [behind, behind] });
    expect(await call(rollBackConfig, {})).toMatchObject({ instances: 2, behind: [] });
    const used = await Promise.all([world.gateway, another].map(inUse));
    expect(used.map(({ version }) => version)).toEqual([before + 2, before + 2]);
    await switchTo(documentOf(100));
  });

  it("stores nothing for the document in force", async () => {
    const version = await switchTo(documentOf(77));
    expect(await apply(documentOf(77))).toBe(version);
  });

  it("gives accounts the limits of their tier on all instances, without a restart", async () => {
    const documentOf = (rate: number) =>
      JSON.stringify({ tiers: { gold: { rate_per_minute: rate, burst: 5_000 } } });
    const holder = await world.agent();
    const limits = () => Promise.all([world.gateway, another].map((gateway) => limitOf(gateway, holder)));
    await switchTo(documentOf(6_000));
    const setTier = (tier: string) =>
      world.postgres.accounts.setTier(holder.accountId, { tier, ratePerMinute: 0, burst: 0 });
    try {
      expect(await limits()).toEqual([1_000_000, 1_000_000]);
      await setTier("gold");
      await expect.poll(limits, OFTEN).toEqual([6_000, 6_000]);
      await apply(documentOf(7_000));
      await expect.poll(limits, OFTEN).toEqual([7_000, 7_000]);
    } finally {
      await setTier("default");
    }
  });

  it("lets one of two operators win who planned against the same version", async () => {
    const expected = await switchTo(documentOf(100));
    const outcomes = await Promise.all(
      [500, 600].map((price) => world.postgres.configVersions.apply(newVersion(documentOf(price), expected))),
    );
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["applied", "conflict"]);
    expect(outcomes.map(({ version }) => version)).toEqual([expected + 1, expected + 1]);
  });
});

describe("a notification", () => {
  it("is not needed by an instance that starts afterwards", async () => {
    const version = await apply(documentOf(71));
    const later = await world.startAnother();
    expect((await inUse(later)).version).toBe(version);
  });
});

describe("a switch", () => {
  it("reaches an instance by its poll when the notification is lost", async () => {
    const before = await switchTo(documentOf(100));
    const polling = await world.startAnother({ CONFIG_POLL_MS: String(POLL_MS) });
    await withoutNotifications(async () => {
      const version = await apply(documentOf(110));
      await expect.poll(async () => (await inUse(polling)).version, OFTEN).toBe(version);
      // Only the notification is missing where nothing polls.
      expect((await inUse(another)).version).toBe(before);
    });
    await switchTo(documentOf(120));
  });

  it("prices no call of three loaded instances by the old version after the poll bound", async () => {
    const before = await switchTo(documentOf(100));
    const polling = { CONFIG_POLL_MS: String(POLL_MS) };
    const three = await Promise.all([1, 2, 3].map(() => world.startAnother(polling)));
    const calls: { began: number; charged: number }[] = [];
    const loading = { stopped: false };
    const callers = [...three, ...three].map(async (gateway) => {
      while (!loading.stopped) {
        const began = performance.now();
        const response = await request(gateway, agent, "/v1/mcp/tools/call", NOTE);
        expect(response.status).toBe(200);
        calls.push({ began, charged: started(response) });
      }
    });
    try {
      await expect.poll(() => calls.length, OFTEN).toBeGreaterThan(30);
      await withoutNotifications(async () => {
        expect(await apply(documentOf(900))).toBe(before + 1);
        // A poll, the query of it, and opening the tools, on a machine that three instances keep busy.
        const bound = performance.now() + 10 * POLL_MS;
        const later = () => calls.filter(({ began }) => began > bound);
        await expect.poll(() => later().length, OFTEN).toBeGreaterThan(30);
        loading.stopped = true;
        await Promise.all(callers);
        expect(new Set(later().map(({ charged }) => charged))).toEqual(new Set([900]));
        expect(new Set(calls.map(({ charged }) => charged))).toEqual(new Set([100, 900]));
      });
    } finally {
      loading.stopped = true;
      await Promise.all(callers);
    }
    await switchTo(documentOf(100));
  });
});

it("allows an account's burst with all its keys on two instances, and names the limit", async () => {
  const { accountId } = await world.agent({ ratePerMinute: 60, burst: 10 });
  await world.postgres.accounts.setTier(accountId, { accountRatePerMinute: 30, accountBurst: 15 });
  const newKey = () => world.postgres.apiKeys.create({ accountId, name: "", scopes: [] });
  const keys = await Promise.all(Array.from({ length: 12 }, newKey));
  const began = performance.now();
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) => {
      const holder = { ...agent, apiKey: keys[n % 12]!.secret };
      return request(n % 2 === 0 ? world.gateway : another, holder, "/v1/mcp/tools/call", ECHO);
    }),
  );
  // A token returns every two seconds.
  const refilled = Math.ceil((performance.now() - began) / 2_000);
  const { 200: passed = [], 429: refused = [] } = Object.groupBy(answers, ({ status }) => status);
  expect(passed.length).toBeGreaterThanOrEqual(15);
  expect(passed.length).toBeLessThanOrEqual(15 + refilled);
  expect(refused).toHaveLength(60 - passed.length);
  expect(passed[0]?.headers.get("x-ratelimit-limit")).toBe("60");
  expect(refused[0]?.headers.get("x-ratelimit-limit")).toBe("30");
  expect(refused[0]?.body).toMatchObject({
    code: "RATE_LIMITED",
    message: expect.stringMatching(/^too many requests with all API keys of the account together \(30 per/),
    retry_after_seconds: expect.any(Number),
  });
});
