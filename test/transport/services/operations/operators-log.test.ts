import { NO_LIMITS } from "../../../../src/domain/accounts/budget.ts";
import { randomBytes } from "node:crypto";
import type { DescMessage, DescMethod, DescMethodUnary, MessageInitShape } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { type Client, status } from "@grpc/grpc-js";
import { base58 } from "@scure/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { TreasuryService } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { operatorServices, type OperatorParts } from "../../../../src/gateway/operator-services.ts";
import { audited } from "../../../../src/transport/services/operations/audited.ts";
import type { Endpoint, ServiceBinding } from "../../../../src/transport/services/service-impl.ts";
import { withOperatorLog } from "../../../../src/cli/operator-log.ts";
import { createLogger } from "../../../../src/log.ts";
import { runToolgate } from "../../../cli/toolgate.ts";
import { query } from "../../../support/database-server.ts";
import { startWorld, type Agent, type World } from "../../../support/world.ts";
import { callGrpc, failureOf, grpcClient } from "../../grpc-client.ts";
import { gift, WATCHFUL } from "../gift.ts";

/** Operator actions are logged before they run, on every transport. */

let world: World;
let client: Client;
let operator: Agent;
let customer: Agent;

beforeAll(async () => {
  world = await startWorld(WATCHFUL);
  client = grpcClient(world.gateway.grpcAddress);
  [operator, customer] = await Promise.all([
    world.agent({ operator: true }),
    world.agent({ balance: 10_000n }),
  ]);
});
afterAll(async () => {
  client.close();
  await world.close();
});

async function call<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  agent = operator,
) {
  const metadata = { authorization: `Bearer ${agent.apiKey}` };
  return (await callGrpc(client, method, request, { metadata })).message;
}

const log = async (limit = 100) => (await call(OperationsService.method.listActions, { limit })).items;

/** The operator's services over unused ports. */
const BINDINGS = operatorServices({
  postgres: { accountQueries: {} },
  keyRules: () => ({}),
} as unknown as OperatorParts);

interface Method {
  method: DescMethod;
  endpoint: Endpoint;
}

function operatorsMethods(bindings: readonly ServiceBinding[]): Method[] {
  return bindings.flatMap(({ service, endpoints }) =>
    service.methods.flatMap((method) => {
      const endpoint = Object.entries<Endpoint>(endpoints).find(([name]) => name === method.localName)?.[1];
      return endpoint?.key === "required" && endpoint.operator ? [{ method, endpoint }] : [];
    }),
  );
}

const onlyReads = ({ method, endpoint }: Method) =>
  method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ||
  (endpoint.key === "required" && endpoint.action === "none");

/** A sample request per changing method. A missing one fails the tests. */
async function samples(): Promise<Record<string, { does: () => Promise<unknown>; logged: object }>> {
  const { accountId } = customer;
  const wallet = base58.encode(randomBytes(32));
  const key = await world.postgres.apiKeys.create({ accountId, name: "old", scopes: [], limits: undefined });
  const { postgres } = world;
  const group = await postgres.keyGroups.create({ accountId, name: "old", limits: NO_LIMITS });
  const lost = await gift(world, customer, 700n, "nobody's");
  await expect.poll(() => world.postgres.treasuryLedger.suspended()).toMatchObject({ count: 1 });
  const bought = await world.call(customer, "vram_estimate", { model: "llama-3.1-8b" });
  const receiptId: string = bought.body.receipt.receipt_id;
  const { method: account } = AccountService;
  const { method: treasury } = TreasuryService;
  return {
    "AccountService.CreateAccount": {
      does: () => call(account.createAccount, { wallet }),
      logged: { action: "account.create", target: wallet, details: { wallet } },
    },
    "AccountService.AdjustBalance": {
      does: () =>
        call(account.adjustBalance, {
          accountId,
          amountUsdcMicrousd: 5n,
          reason: "gift",
          idempotencyKey: "once",
        }),
      logged: {
        action: "account.adjust",
        target: accountId,
        details: {
          account_id: accountId,
          amount_usdc_microusd: "5",
          reason: "gift",
          idempotency_key: "once",
        },
      },
    },
    "AccountService.SetTier": {
      does: () => call(account.setTier, { accountId, ratePerMinute: 600_000, burst: 60_000 }),
      logged: {
        action: "account.tier",
        target: accountId,
        details: { account_id: accountId, rate_per_minute: 600_000, burst: 60_000 },
      },
    },
    "AccountService.SetBlocked": {
      does: () => call(account.setBlocked, { accountId, blocked: true, reason: "a chargeback" }),
      logged: {
        action: "account.block",
        target: accountId,
        details: { account_id: accountId, blocked: true, reason: "a chargeback" },
      },
    },
    "KeyService.CreateKey": {
      does: () => call(KeyService.method.createKey, { accountId, name: "new" }),
      logged: { action: "key.create", target: accountId, details: { account_id: accountId, name: "new" } },
    },
    "KeyService.UpdateKey": {
      does: () => call(KeyService.method.updateKey, { keyId: key.key.keyId, name: "newer" }),
      logged: {
        action: "key.update",
        target: key.key.keyId,
        details: { key_id: key.key.keyId, name: "newer" },
      },
    },
    "KeyService.CreateKeyGroup": {
      does: () => call(KeyService.method.createKeyGroup, { accountId, name: "CI" }),
      logged: {
        action: "key-group.create",
        target: accountId,
        details: { account_id: accountId, name: "CI" },
      },
    },
    "KeyService.UpdateKeyGroup": {
      does: () => call(KeyService.method.updateKeyGroup, { groupId: group.groupId, name: "builds" }),
      logged: {
        action: "key-group.update",
        target: group.groupId,
        details: { group_id: group.groupId, name: "builds" },
      },
    },
    "KeyService.DeleteKeyGroup": {
      // Repeated, it fails: the group is gone.
      does: () => call(KeyService.method.deleteKeyGroup, { groupId: group.groupId }).catch(() => undefined),
      logged: {
        action: "key-group.delete",
        target: group.groupId,
        details: { group_id: group.groupId },
      },
    },
    "KeyService.RevokeKey": {
      does: () => call(KeyService.method.revokeKey, { keyId: key.key.keyId }),
      logged: { action: "key.revoke", target: key.key.keyId, details: { key_id: key.key.keyId } },
    },
    "OperationsService.ApplyConfig": {
      does: () => call(OperationsService.method.applyConfig, { document: "{}", note: "spring" }),
      logged: {
        action: "config.apply",
        target: "configuration after version any",
        details: { note: "spring" },
      },
    },
    "OperationsService.RollBackConfig": {
      does: () => call(OperationsService.method.rollBackConfig, { version: 1, expectedVersion: 1 }),
      logged: {
        action: "config.rollback",
        target: "configuration after version 1",
        details: { version: 1, expected_version: 1 },
      },
    },
    "OperationsService.TryTool": {
      // The document has no such tool: an action that failed is logged, too.
      does: () =>
        call(OperationsService.method.tryTool, { document: "{}", tool: "none", params: "{}" }).catch(
          () => undefined,
        ),
      logged: {
        action: "tools.try",
        target: "none",
        details: { tool: "none" },
        failure: expect.stringContaining("INVALID_REQUEST: tool: "),
      },
    },
    "TreasuryService.AssignSuspense": {
      does: () =>
        call(treasury.assignSuspense, {
          txSignature: lost,
          owner: { case: "accountId", value: accountId },
          reason: "his",
        }),
      logged: {
        action: "suspense.assign",
        target: lost,
        details: { tx_signature: lost, account_id: accountId, reason: "his" },
      },
    },
    "TreasuryService.RefundReceipt": {
      does: () => call(treasury.refundReceipt, { receiptId, reason: "bad" }),
      logged: {
        action: "receipt.refund",
        target: receiptId,
        details: { receipt_id: receiptId, reason: "bad" },
      },
    },
  };
}

describe("every operator's method that changes something", () => {
  it("logs each change with actor, target and details, repeats marked, without secrets", async () => {
    const tried = await samples();
    const changing = operatorsMethods(BINDINGS).filter((method) => !onlyReads(method));
    const names = changing.map(({ method }) => `${method.parent.typeName.split(".").at(-1)}.${method.name}`);
    expect(names.toSorted()).toEqual(Object.keys(tried).toSorted());

    for (const [name, { does, logged }] of Object.entries(tried)) {
      const before = await log();
      await does();
      const [newest, ...rest] = await log();
      expect(rest.slice(0, 99), name).toEqual(before.slice(0, 99));
      expect({ ...newest, details: JSON.parse(newest?.details ?? "") }, name).toMatchObject({
        accountId: operator.accountId,
        actor: operator.keyId,
        failure: "",
        repeats: "",
        ...logged,
      });
      await does();
      const repeats = ["SetTier", "SetBlocked", "CreateKey", "UpdateKey", "KeyGroup", "Config", "Tool"].some(
        (each) => name.endsWith(each),
      )
        ? ""
        : newest?.actionId;
      expect((await log())[0], name).toMatchObject({ details: newest?.details, repeats });
    }
    expect((await log()).map(({ details }) => details).join()).not.toMatch(/sk-agent-\w{8}/);
    const { accountId } = customer;
    await call(AccountService.method.setBlocked, { accountId, blocked: false, reason: "sorted out" });
    expect((await log())[0]).toMatchObject({ action: "account.unblock", target: accountId });
  });

  it("rejects a changing method without an action at start", () => {
    const account = BINDINGS.find(({ service }) => service === AccountService);
    const silent = { service: AccountService, endpoints: { setTier: { key: "required", operator: true } } };
    expect(account).toBeDefined();
    expect(() => audited(silent as unknown as ServiceBinding, {} as never)).toThrow(/SetTier has no action/);
  });

  it("marks only reading methods as reading", () => {
    const reading = operatorsMethods(BINDINGS).filter(onlyReads);
    expect(reading.map(({ method }) => method.name).toSorted()).toEqual(
      [
        "Find",
        "GetAccount",
        "GetConfigVersion",
        "GetRevenue",
        "GetStatus",
        "GetTreasury",
        "ListAccounts",
        "ListActions",
        "ListConfigVersions",
        "ListFailedPayments",
        "ListJobs",
        "ListKeyGroups",
        "ListKeys",
      ]
        .concat("ListSuspense", "PlanConfig", "RunAudit", "ValidateConfig")
        .toSorted(),
    );
  });
});

describe("an action", () => {
  it("logs a failed action with its error, and a later success as no repeat", async () => {
    const { accountId } = customer;
    const much = { accountId, amountUsdcMicrousd: -9_000_000n, reason: "too much", idempotencyKey: "much" };
    await failureOf(call(AccountService.method.adjustBalance, much));
    const [failed] = await log();
    expect(failed).toMatchObject({
      action: "account.adjust",
      failure: "INVALID_REQUEST: amount_usdc_microusd: the balance does not cover it",
    });
    const { rows } = await query(
      world.database.url,
      "select failure from operator_action where failed_action is not null order by id desc limit 1",
    );
    expect(rows).toEqual([{ failure: failed?.failure }]);
    await call(AccountService.method.adjustBalance, {
      ...much,
      amountUsdcMicrousd: 9_000_000n,
      idempotencyKey: "up",
    });
    await call(AccountService.method.adjustBalance, much);
    expect((await log())[0]).toMatchObject({ failure: "", repeats: "" });
  });

  it("does not log forbidden or invalid requests", async () => {
    const before = await log();
    const refused = await failureOf(
      call(AccountService.method.setTier, { accountId: operator.accountId, burst: -1 }, operator),
    );
    expect(status[refused.code]).toBe("INVALID_ARGUMENT");
    const change = { accountId: customer.accountId, ratePerMinute: 5, burst: 5 };
    const forbidden = await failureOf(call(AccountService.method.setTier, change, customer));
    expect(status[forbidden.code]).toBe("PERMISSION_DENIED");
    expect(await log()).toEqual(before);
  });

  it("redacts secrets sent by mistake and accepts unusual texts", async () => {
    const { accountId } = customer;
    const oops = `it is ${customer.apiKey} \u0001 "quoted"`;
    await call(AccountService.method.setBlocked, { accountId, blocked: false, reason: oops.slice(0, 400) });
    await failureOf(
      call(AccountService.method.setTier, {
        accountId: `\0${"x".repeat(20_000)}`,
        ratePerMinute: 5,
        burst: 5,
      }),
    );
    const [long, odd] = await log();
    expect(odd?.details).toContain("sk-agent-***");
    expect(odd?.details).not.toContain(customer.apiKey.slice(-20));
    expect(long?.target.length).toBeLessThan(201);
    expect(long?.details.length).toBeLessThan(20_000);
    expect(JSON.parse(long?.details ?? "")).toBeDefined();
  });

  it("makes no change when the log cannot be written", async () => {
    const { accountId } = customer;
    const before = await world.postgres.accounts.get(accountId);
    const refuse = `alter table operator_action
      add constraint closed check (action <> 'account.tier') not valid`;
    await query(world.database.url, refuse);
    try {
      const answer = call(AccountService.method.setTier, { accountId, ratePerMinute: 7, burst: 7 });
      expect(status[(await failureOf(answer)).code]).toBe("INTERNAL");
    } finally {
      await query(world.database.url, "alter table operator_action drop constraint closed");
    }
    expect(await world.postgres.accounts.get(accountId)).toEqual(before);
  });

  it("logs changes made on the command line", async () => {
    const settings = { DATABASE_URL: world.database.servingUrl };
    const { accountId } = customer;
    const given = await runToolgate(settings, ["accounts", "operator", "--account", accountId]);
    expect(given).toMatchObject({ code: 0, stderr: "" });
    // The other commands use the same ports.
    const { accounts, apiKeys, suspense, refunds } = withOperatorLog(
      world.postgres,
      createLogger("silent", { secrets: [] }),
    );
    await accounts.setOperator(accountId, false);
    await accounts.setBlocked(accountId, { blocked: true, reason: "late" });
    await accounts.setBlocked(accountId, { blocked: false, reason: "paid" });
    await accounts.setTier(accountId, { ratePerMinute: 600_000, burst: 60_000 });
    await accounts.create(customer.wallet.publicKey.toBase58());
    await accounts.adjust({ accountId, amount: 5n, reason: "gift", idempotencyKey: "once" });
    const limits = {
      ...NO_LIMITS,
      expiresAt: new Date("2100-01-01"),
      perCall: 5n,
      tools: new Set(["t"]),
    };
    const { key } = await apiKeys.create({ accountId, name: "by hand", scopes: [], limits });
    await apiKeys.rotate({ keyId: key.keyId, accountId, overlapSeconds: 0 });
    await apiKeys.revoke(key.keyId);
    const nothing = { txSignature: base58.encode(randomBytes(64)), to: "operator", reason: "ours" } as const;
    await expect(suspense.assign(nothing)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(refunds.refund({ receiptId: "rcpt_none", reason: "bad" })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });

    const items = (await log(12)).reverse();
    expect(items.map(({ action }) => action)).toEqual([
      ...["account.operator", "account.operator", "account.block", "account.unblock", "account.tier"],
      ...[
        "account.create",
        "account.adjust",
        "key.create",
        "key.rotate",
        "key.revoke",
        "suspense.assign",
        "receipt.refund",
      ],
    ]);
    for (const item of items)
      expect(item).toMatchObject({ accountId: "", actor: expect.stringMatching(/^cli:\S+$/) });
    const reasons = items.flatMap(({ details }) => JSON.parse(details).reason ?? []);
    expect(reasons).toEqual(["late", "paid", "gift", "ours", "bad"]);
    const details = { account_id: accountId, name: "by hand", scopes: [] };
    const written = { expiresAt: "2100-01-01T00:00:00.000Z", perCall: "5", tools: ["t"], warnPercent: 80 };
    expect(JSON.parse(items.find(({ action }) => action === "key.create")?.details ?? "")).toEqual({
      ...details,
      limits: written,
    });
    expect(items.filter(({ repeats }) => repeats !== "").map(({ action }) => action)).toEqual([
      "account.adjust",
    ]);
    expect(items.slice(-2).map(({ failure }) => failure.split(":")[0])).toEqual(["NOT_FOUND", "NOT_FOUND"]);
    expect(items.map((item) => item.details).join()).not.toMatch(/sk-agent-\w{8}/);
  });

  it("returns the operator log in pages", async () => {
    const all = await log();
    const { items, nextCursor } = await call(OperationsService.method.listActions, { limit: 3 });
    const next = await call(OperationsService.method.listActions, {
      limit: 3,
      ...(nextCursor && { cursor: nextCursor }),
    });
    expect([...items, ...next.items]).toEqual(all.slice(0, 6));
  });
});

describe("the log", () => {
  it.each([
    ["the role that serves", () => world.database.servingUrl],
    ["the schema's owner", () => world.database.url],
  ])("cannot be changed by %s", async (_, url) => {
    for (const change of [
      "update operator_action set failure = 'no'",
      "delete from operator_action",
      "truncate operator_action",
    ]) {
      await expect(query(url(), change), change).rejects.toThrow(/append-only|permission denied/);
    }
  });
});
