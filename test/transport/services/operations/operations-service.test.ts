import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { MessageShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { AuditService } from "#gen/toolgate/v1/audit_service_pb.ts";
import {
  FailedPaymentKind,
  type GetStatusResponseSchema,
  OperationsService,
} from "#gen/toolgate/v1/operations_service_pb.ts";
import { runToolgate } from "../../../cli/toolgate.ts";
import { signIn } from "../../../support/console.ts";
import { secret } from "../../../support/record.ts";
import { query } from "../../../support/database-server.ts";
import { openapi, operation, startThirdParty } from "../../../tools/custom/http/third-party.ts";
import { useWorld } from "../../../support/use-world.ts";
import { memoOf, type Agent } from "../../../support/world.ts";
import { failureOf, grpcClient } from "../../grpc-client.ts";
import { WATCHFUL } from "../gift.ts";
import { codeOf, useOperator } from "../operator.ts";
import { closeServer, listen } from "../../../support/servers.ts";

const { getStatus, listFailedPayments, listActions } = OperationsService.method;

const world = useWorld({ ...WATCHFUL, QUOTE_TTL_SECONDS: "300", TOOL_TRIAL_KEY: "trial-key" });
const operator = useOperator(world);
const { call } = operator;
let customer: Agent;
beforeAll(async () => {
  customer = await world.agent({ balance: 10_000n });
});

const buy = (agent = customer) => world.call(agent, "vram_estimate", { model: "llama-3.1-8b" });

type ServiceStatus = MessageShape<typeof GetStatusResponseSchema>;

const statusThat = async (holds: (status: ServiceStatus) => boolean) => {
  let status: ServiceStatus | undefined;
  await expect
    .poll(async () => {
      status = await call(getStatus, {});
      return holds(status);
    })
    .toBe(true);
  if (!status) throw new Error("no status was returned");
  return status;
};

describe("the status", () => {
  it("returns treasury, fee payer, endpoints, calls, liabilities and revenue", async () => {
    expect((await buy()).status).toBe(200);
    expect((await buy()).status).toBe(200);
    const status = await statusThat(
      ({ revenueUsdcMicrousd, treasury }) =>
        revenueUsdcMicrousd === 2_000n && treasury?.lookedAt !== undefined,
    );
    expect(status.treasury).toMatchObject({
      owner: world.treasury.publicKey.toBase58(),
      tokenAccount: world.gateway.payTo,
      heldUsdcMicrousd: 0n,
      expectedUsdcMicrousd: 0n,
      problem: "",
    });
    expect(status.feePayer).toMatchObject({
      address: world.feePayer.publicKey.toBase58(),
      lowLamports: 20_000_000n,
      spentTodayLamports: 0n,
      dailyLamports: 50_000_000n,
    });
    expect(status.feePayer?.lamports).toBeGreaterThan(0n);
    const host = new URL(world.chain.url).host;
    expect(status.endpoints).toMatchObject([{ host, healthy: true, slotsBehind: 0n, problem: "" }]);
    expect(status.endpoints[0]?.slot).toBeGreaterThan(0n);
    expect(status.endpoints[0]?.latencyMs).toBeGreaterThanOrEqual(0);
    expect(status.minutes).toHaveLength(60);
    expect(status.minutes.reduce((sum, { completed }) => sum + completed, 0)).toBe(2);
    expect(status.minutes.reduce((sum, { chargedUsdcMicrousd }) => sum + chargedUsdcMicrousd, 0n)).toBe(
      2_000n,
    );
    expect(status).toMatchObject({
      activeRuns: 0n,
      liabilitiesUsdcMicrousd: 8_000n,
      suspenseCount: 0n,
      suspenseUsdcMicrousd: 0n,
    });
  });
});

describe("failing endpoints", () => {
  const servers: Server[] = [];
  afterAll(() => Promise.all(servers.map(closeServer)));

  /** Starts an endpoint. @returns its host */
  async function endpoint(answer: (url: string) => string | undefined): Promise<string> {
    const server = createServer((request, response) => {
      const text = answer(request.url ?? "");
      if (text !== undefined) response.end(text);
    });
    servers.push(server);
    return `127.0.0.1:${await listen(server)}`;
  }

  it("reports failing endpoints by host only", async () => {
    // The endpoint echoes the second one. A configured gateway would redact it from its log; this one does
    // not.
    const keys = Array.from({ length: 4 }, (_, index) => {
      const key = `key-${randomUUID()}`;
      return index === 1 ? key : secret("an RPC key", key);
    });
    const [key = ""] = keys;
    const silent = await endpoint(() => undefined);
    const repeating = await endpoint((url) =>
      JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32052, message: `API key ${url} is bad` } }),
    );
    const garbled = await endpoint((url) => `no JSON at ${url}`);
    const urls = [
      `http://${silent}/${key}`,
      `http://${repeating}/?k=${keys[1]}`,
      `http://u:${keys[2]}@${garbled}/${keys[3]}`,
      "http://127.0.0.1:1/x",
    ];
    const another = await world.startAnother({ SOLANA_RPC_URLS: urls.join(",") });
    const through = grpcClient(another.grpcAddress);
    try {
      const status = await call(getStatus, {}, operator.agent, through);
      expect(status.endpoints.map(({ host }) => host)).toEqual([silent, repeating, garbled, "127.0.0.1:1"]);
      for (const { healthy, slot, problem } of status.endpoints) {
        expect({ healthy, slot }).toEqual({ healthy: false, slot: undefined });
        expect(problem).not.toBe("");
      }
      expect(status.endpoints[0]?.problem).toMatch(/did not answer within 2 s|left alone/);
      expect(status.treasury?.heldUsdcMicrousd).toBeUndefined();
      expect(status.treasury?.expectedUsdcMicrousd).toBeDefined();
      expect(status.feePayer?.lamports).toBeUndefined();
      expect(status.treasury?.problem).toMatch(/^No endpoint returns|^The treasury's history/);
      expect(status.minutes).toHaveLength(60);
      const texts =
        status.endpoints.map(({ host, problem }) => host + problem).join() + status.treasury?.problem;
      for (const one of keys) expect(texts).not.toContain(one);
    } finally {
      through.close();
    }
  });
});

describe("the last audit", () => {
  it("returns the last audit", async () => {
    expect((await call(getStatus, {})).audit).toBeUndefined();
    const found = await call(AuditService.method.runAudit, {});
    const { audit } = await statusThat((status) => status.audit !== undefined);
    expect(audit).toMatchObject({ clean: found.clean, lines: found.lines });
    expect(audit?.at).toBeDefined();
  });
});

describe("failed payments", () => {
  it("lists failed payments with reasons in pages, newest first", async () => {
    const offered = async () =>
      (await world.call(await world.agent(), "vram_estimate", { model: "llama-3.1-8b" })).body.quote;
    const quote = await offered();
    const expensive = await offered();
    const little = await world.pay(customer, BigInt(quote.price_usdc_microusd) - 1n, memoOf(quote));
    const idle = await world.pay(customer, BigInt(expensive.price_usdc_microusd), memoOf(expensive));
    world.chain.chain.advance(40);
    const credited = async () => (await query(world.database.url, "select from payment")).rowCount;
    await expect.poll(credited).toBe(2);
    expect((await call(listFailedPayments, {})).items).toEqual([]);
    await query(world.database.url, "update payment set created_at = created_at - interval '61 seconds'");
    const { items } = await call(listFailedPayments, {});
    expect(items).toHaveLength(2);
    expect(items.find(({ txSignature }) => txSignature === little)).toMatchObject({
      quoteId: quote.quote_id,
      amountUsdcMicrousd: 999n,
      kind: FailedPaymentKind.UNUSED,
      reason: "It was credited to the balance: it is less than the price of 0.001000 USDC.",
    });
    expect(items.find(({ txSignature }) => txSignature === idle)?.reason).toBe(
      "It was credited to the balance: its proof did not arrive in time.",
    );
    const first = await call(listFailedPayments, { limit: 1 });
    const next = await call(listFailedPayments, {
      limit: 1,
      ...(first.nextCursor && { cursor: first.nextCursor }),
    });
    expect([...first.items, ...next.items]).toEqual(items);
    expect(next.nextCursor).toBeUndefined();
    expect(await codeOf(call(listFailedPayments, { cursor: "x" }))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(call(listFailedPayments, { limit: 101 }))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(call(listActions, { cursor: first.nextCursor ?? "" }))).toBe("INVALID_ARGUMENT");
  });
});

describe("access control", () => {
  it("rejects a revoked operator", async () => {
    const other = await world.agent({ operator: true });
    await call(getStatus, {}, other);
    await world.postgres.accounts.setOperator(other.accountId, false);
    const answer = () =>
      call(getStatus, {}, other).then(
        () => "OK",
        () => "refused",
      );
    await expect.poll(answer).toBe("refused");
  });

  it("accepts an operator's session in the console and rejects others", async () => {
    const other = await world.agent({ operator: true });
    const person = await signIn(world, other.wallet);
    const [operations, accounts] = [person.client(OperationsService), person.client(AccountService)];
    expect((await operations.getStatus({})).treasury?.tokenAccount).toBe(world.gateway.payTo);
    const { items } = await accounts.listAccounts({ query: customer.accountId });
    expect(items.map(({ accountId }) => accountId)).toEqual([customer.accountId]);
    await accounts.setBlocked({ accountId: customer.accountId, blocked: true, reason: "late" });
    const [newest] = (await operations.listActions({ limit: 1 })).items;
    expect(newest).toMatchObject({
      action: "account.block",
      target: customer.accountId,
      accountId: other.accountId,
      actor: expect.stringMatching(/^ses_[0-9a-f]{32}$/),
    });
    await accounts.setBlocked({ accountId: customer.accountId, blocked: false, reason: "paid" });

    await world.postgres.accounts.setBlocked(other.accountId, { blocked: true, reason: "left us" });
    const refused = await operations.getStatus({}).catch((error: unknown) => ConnectError.from(error).code);
    expect(refused).toBe(Code.PermissionDenied);
    await world.postgres.accounts.setBlocked(other.accountId, { blocked: false, reason: "came back" });
    await operations.getStatus({});
    await world.postgres.accounts.setOperator(other.accountId, false);
    const answer = () =>
      operations.getStatus({}).then(
        () => undefined,
        (error: unknown) => ConnectError.from(error).code,
      );
    await expect.poll(answer).toBe(Code.PermissionDenied);
    expect(await accounts.listAccounts({}).catch((error: unknown) => ConnectError.from(error).code)).toBe(
      Code.PermissionDenied,
    );
  });
});

describe("the command line", () => {
  const toolgate = (...args: string[]) =>
    runToolgate(
      {
        DATABASE_URL: world.database.servingUrl,
        SOLANA_RPC_URLS: world.settings["SOLANA_RPC_URLS"] ?? "",
        TREASURY_OWNER: world.settings["TREASURY_OWNER"] ?? "",
        FEE_PAYER_KEYPAIR: world.settings["FEE_PAYER_KEYPAIR"] ?? "",
      },
      args,
    );

  it("the command line prints the same status", async () => {
    const [state, failed, actions, found] = await Promise.all([
      toolgate("operations", "status", "--json"),
      toolgate("operations", "failed-payments", "--json", "--limit", "1"),
      toolgate("operations", "actions", "--json", "--limit", "1"),
      toolgate("accounts", "list", "--query", customer.wallet.publicKey.toBase58(), "--json"),
    ]);
    expect(state.rows).toMatchObject([
      {
        token_account: world.gateway.payTo,
        held_usdc: expect.stringMatching(/^0\.\d{6}$/),
        revenue_usdc: "0.002000",
        fee_payer: world.feePayer.publicKey.toBase58(),
        endpoints: [{ endpoint: new URL(world.chain.url).host, problem: null }],
      },
    ]);
    expect(failed.rows).toMatchObject([
      { kind: "unused", reason: expect.any(String) },
      { next_cursor: expect.any(String) },
    ]);
    expect(actions.rows).toMatchObject([
      { action: "account.unblock", target: customer.accountId },
      { next_cursor: expect.any(String) },
    ]);
    expect(found.rows).toMatchObject([
      { account_id: customer.accountId, blocked_reason: null, operator: false },
    ]);
  });
});

describe("reports", () => {
  const { method } = OperationsService;

  it("list the last run of each job and the leader", async () => {
    const read = () => call(method.listJobs, {});
    await expect.poll(async () => (await read()).jobs.map(({ name }) => name)).toContain("watch");
    const { jobs, leader, instance } = await read();
    expect(leader).toBe(instance);
    expect(jobs.find(({ name }) => name === "watch")).toMatchObject({
      instance,
      failure: "",
      failures: 0n,
      succeededAt: expect.anything(),
    });
  });

  it("state revenue by account", async () => {
    const rich = await world.agent({ balance: 10_000_000n });
    const from = timestampFromDate(new Date(Date.now() - 86_400_000));
    const before = await call(method.getRevenue, { from });
    const { body } = await buy(rich);
    const after = await call(method.getRevenue, { from });
    const charged = BigInt(body.receipt?.debited_usdc_microusd ?? 0);
    expect(charged).toBeGreaterThan(0n);
    expect(after.chargedUsdcMicrousd).toBe(before.chargedUsdcMicrousd + charged);
    expect(after.accounts).toContainEqual(
      expect.objectContaining({ accountId: rich.accountId, calls: 1n, chargedUsdcMicrousd: charged }),
    );
    expect(await codeOf(call(method.getRevenue, {}))).toBe("INVALID_ARGUMENT");
  });
});

describe("the configuration", () => {
  const { method } = OperationsService;
  const priceOf = (microUsd: number) =>
    JSON.stringify({ prices: { vram_estimate: { flat_microusd: microUsd } } });

  it("is validated, planned, applied, listed and rolled back", async () => {
    const rich = await world.agent({ balance: 10_000_000n });
    expect(await call(method.planConfig, { document: priceOf(7_000) })).toMatchObject({
      version: 0,
      changes: [
        {
          kind: "price",
          affectsCallers: true,
          text: "prices.vram_estimate.flat_microusd: $0.001 (its default) → $0.007",
        },
      ],
    });
    const applied = await call(method.applyConfig, {
      document: priceOf(7_000),
      expectedVersion: 0,
      note: "up",
    });
    expect(applied).toMatchObject({ version: 1, applied: true, changes: [{ kind: "price" }] });
    await expect.poll(async () => (await buy(rich)).body.receipt?.debited_usdc_microusd).toBe(7_000);
    expect(await call(method.applyConfig, { document: priceOf(7_000) })).toMatchObject({
      version: 1,
      applied: false,
    });
    const outdated = call(method.applyConfig, { document: "{}", expectedVersion: 0 });
    expect((await failureOf(outdated)).details).toContain("version 1 is in force by now");
    await call(method.applyConfig, { document: "{}" });
    expect(await call(method.rollBackConfig, {})).toMatchObject({ version: 3, applied: true });
    const { items } = await call(method.listConfigVersions, {});
    expect(items.map(({ version, source, note, actor }) => [version, source, note, actor])).toEqual([
      [3, "rollback", "rollback to version 1", operator.agent.keyId],
      [2, "apply", "", operator.agent.keyId],
      [1, "apply", "up", operator.agent.keyId],
    ]);
    const shown = await call(method.getConfigVersion, {});
    expect([shown.version?.version, shown.document]).toEqual([3, priceOf(7_000)]);
    await call(method.rollBackConfig, { version: 2 });
    await expect.poll(async () => (await buy(rich)).body.receipt?.debited_usdc_microusd).toBe(1_000);
    expect(await codeOf(call(method.getConfigVersion, { version: 99 }))).toBe("NOT_FOUND");
  });

  it("keeps tiers that accounts have", async () => {
    const { setTier } = AccountService.method;
    const withTiers = (tiers: object) => ({ document: JSON.stringify({ tiers }) });
    await call(method.applyConfig, withTiers({ gold: { rate_per_minute: 600, burst: 50 } }));
    const { accountId } = await world.agent();
    expect(await call(setTier, { accountId, tier: "gold", ratePerMinute: 0, burst: 0 })).toMatchObject({
      account: { tier: "gold", ratePerMinute: 600, burst: 50, accountRatePerMinute: 6000 },
    });
    const lower = { gold: { rate_per_minute: 300, burst: 50 }, base: { rate_per_minute: 1, burst: 1 } };
    expect(await call(method.planConfig, withTiers(lower))).toMatchObject({
      changes: [
        { affectsCallers: false, text: 'tier base: appears, {"burst":1,"rate_per_minute":1}' },
        { affectsCallers: true, text: "tier gold.rate_per_minute: 600 → 300" },
      ],
    });
    for (const refused of [
      () => call(method.planConfig, withTiers({})),
      () => call(method.applyConfig, withTiers({})),
    ]) {
      expect((await failureOf(refused())).details).toContain(
        "tiers.gold: cannot be removed: 1 account has it; give them another one by accounts tier --tier",
      );
    }
    expect(await codeOf(call(setTier, { accountId, tier: "silver" }))).toBe("INVALID_ARGUMENT");
    await call(setTier, { accountId, tier: "default" });
    expect(await call(method.applyConfig, withTiers({}))).toMatchObject({
      changes: [{ affectsCallers: false, text: "tier gold: disappears" }],
    });
  });

  it("tries a custom tool of a draft on its real server, charges nothing and logs it", async () => {
    const party = await startThirdParty();
    const api = openapi({ "/n": { get: operation("note") } }, { servers: [{ url: party.url }] });
    const files = { "note.json": Buffer.from(JSON.stringify(api)).toString("base64") };
    const http = { openapi: "note.json", operation_id: "note" };
    const allow_hosts = ["127.0.0.1"];
    const headers_env = { "X-Key": "TOOL_TRIAL_KEY" };
    const note = { name: "note", price: { flat_microusd: 1_500 }, http, headers_env };
    const draftOf = (more: object) => JSON.stringify({ files, tools: [{ ...note, ...more }] });
    const tryIt = (draft: string) => call(method.tryTool, { document: draft, tool: "note", params: "{}" });
    const remedy = "apply the document first, or run tools try on the gateway's machine";
    const served = await call(method.listConfigVersions, { limit: 1 });
    await call(method.applyConfig, { document: "{}" });
    expect((await failureOf(tryIt(draftOf({ allow_hosts })))).details).toContain(
      `document: tools[0].allow_hosts: the version in force does not allow 127.0.0.1; ${remedy}`,
    );
    expect((await failureOf(tryIt(draftOf({ network: "any" })))).details).toContain(
      `document: tools[0].network: any is more than the version in force allows; ${remedy}`,
    );
    // A plan asks servers to describe their tools: it goes no further than a trial.
    const mcp = { url: `${party.url}/mcp`, tool: "note" };
    const draft = { ...note, http: undefined, mcp, allow_hosts };
    await call(method.planConfig, { document: JSON.stringify({ tools: [draft] }) });
    expect(party.received).toEqual([]);
    const document = draftOf({ allow_hosts });
    await call(method.applyConfig, { document });
    const tried = await call(method.tryTool, { document, tool: "note", params: "{}" });
    expect(tried).toMatchObject({ priceUsdcMicrousd: 1_500n, chargeUsdcMicrousd: 1_500n });
    expect(JSON.parse(tried.result)).toMatchObject({ fine: true });
    expect(party.received).toHaveLength(1);
    const { items } = await call(method.listActions, { limit: 1 });
    expect(items).toMatchObject([{ action: "tools.try", target: "note", failure: "" }]);
    const document_sha256 = (await call(method.listConfigVersions, { limit: 1 })).items[0]?.checksum;
    expect(JSON.parse(items[0]?.details ?? "")).toEqual({
      tool: "note",
      document_sha256,
      variables: ["TOOL_TRIAL_KEY"],
      hosts: ["127.0.0.1"],
    });
    for (const [change, field] of [
      [{ params: "[]" }, "params: "],
      [{ tool: "other" }, "tool: "],
      [{ document: "{" }, "document: "],
    ] as const)
      expect(
        (await failureOf(call(method.tryTool, { document, tool: "note", params: "{}", ...change }))).details,
      ).toContain(field);
    expect(party.received).toHaveLength(1);
    await call(method.rollBackConfig, { version: served.items[0]?.version });
    await party.close();
  });

  it("refuses documents that are invalid or use what belongs to the gateway", async () => {
    const noted = {
      name: "note",
      price: { flat_microusd: 1 },
      http: { openapi: "/etc/hostname", operation_id: "note" },
      headers_env: { "X-Key": "DATABASE_URL", "X-Home": "HOME" },
    };
    const document = JSON.stringify({ tools: [noted] });
    const { problems } = await call(method.validateConfig, { document });
    expect(problems).toEqual(
      expect.arrayContaining([
        "tools[0].headers_env.X-Key: DATABASE_URL is a setting of the gateway; use a variable that begins " +
          "with TOOL_ (TOOL_ENV_PREFIX)",
        "tools[0].headers_env.X-Home: documents may not name HOME; use a variable that begins with TOOL_ " +
          "(TOOL_ENV_PREFIX)",
        "files: /etc/hostname is missing or cannot be read",
      ]),
    );
    const before = await call(method.listConfigVersions, {});
    for (const each of [document, "not JSON", priceOf(0)])
      expect(await codeOf(call(method.applyConfig, { document: each }))).toBe("INVALID_ARGUMENT");
    const { items } = await call(method.listConfigVersions, {});
    expect(items).toHaveLength(before.items.length);
    expect((await call(method.validateConfig, { document: "not JSON" })).problems).toHaveLength(1);
  });
});
