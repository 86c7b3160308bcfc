import { NO_LIMITS } from "../../../../src/domain/accounts/budget.ts";
import { hash, randomBytes } from "node:crypto";
import {
  create,
  toJson,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { base58 } from "@scure/base";
import { beforeAll, describe, expect, it } from "vitest";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { OperationsService } from "#gen/toolgate/v1/operations_service_pb.ts";
import { TreasuryService } from "#gen/toolgate/v1/treasury_service_pb.ts";
import { operatorServices, type OperatorParts } from "../../../../src/gateway/services.ts";
import { audited } from "../../../../src/transport/services/operations/audited.ts";
import type { Endpoint, ServiceBinding } from "../../../../src/transport/endpoint.ts";
import { withOperatorLog } from "../../../../src/cli/operator-log.ts";
import { createLogger } from "../../../../src/log.ts";
import { runToolgate } from "../../../cli/toolgate.ts";
import { query } from "../../../support/database-server.ts";
import { useWorld } from "../../../support/use-world.ts";
import type { Agent } from "../../../support/world.ts";
import { failureOf } from "../../grpc-client.ts";
import { gift, WATCHFUL } from "../gift.ts";
import { codeOf, useOperator } from "../operator.ts";

/** Operator actions are logged before they run, on every transport. */

const world = useWorld(WATCHFUL);
const operator = useOperator(world);
const { call } = operator;
let customer: Agent;
beforeAll(async () => {
  customer = await world.agent({ balance: 10_000n });
});

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
      const endpoint = Object.entries(endpoints).find(([name]) => name === method.localName)?.[1];
      return endpoint?.key === "required" && endpoint.operator ? [{ method, endpoint }] : [];
    }),
  );
}

const onlyReads = ({ method, endpoint }: Method) =>
  method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS ||
  (endpoint.key === "required" && endpoint.action === "none");

interface Sample {
  does: () => Promise<unknown>;
  logged: object;
}

/** A request, and what is logged of it: its members by their names in the contract. */
function sample<I extends DescMessage>(
  method: DescMethodUnary<I>,
  request: MessageInitShape<I>,
  { target, action, ...logged }: { target: string; action: string; [member: string]: unknown },
): [string, Sample] {
  const options = { useProtoFieldName: true };
  const details = toJson(method.input, create(method.input, request), options);
  const name = `${method.parent.typeName.split(".").at(-1)}.${method.name}`;
  // Where a repeated request fails, that is logged, too.
  const does = () => call(method, request).catch(() => undefined);
  return [name, { does, logged: { action, target, details, ...logged } }];
}

/** A sample request per changing method. A missing one fails the tests. */
async function samples(): Promise<Record<string, Sample>> {
  const { accountId } = customer;
  const wallet = base58.encode(randomBytes(32));
  const { postgres } = world;
  const created = await postgres.apiKeys.create({ accountId, name: "old", scopes: [], limits: undefined });
  const { keyId } = created.key;
  const { groupId } = await postgres.keyGroups.create({ accountId, name: "old", limits: NO_LIMITS });
  const txSignature = await gift(world, customer, 700n, "nobody's");
  await expect.poll(() => postgres.treasuryLedger.suspended()).toMatchObject({ count: 1 });
  const bought = await world.call(customer, "vram_estimate", { model: "llama-3.1-8b" });
  const receiptId: string = bought.body.receipt.receipt_id;
  const { method: account } = AccountService;
  const { method: key } = KeyService;
  const { method: operations } = OperationsService;
  const { method: treasury } = TreasuryService;
  const amount = { amountUsdcMicrousd: 5n, reason: "gift", idempotencyKey: "once" };
  const owner = { case: "accountId", value: accountId } as const;
  const target = accountId;
  return Object.fromEntries([
    sample(account.createAccount, { wallet }, { action: "account.create", target: wallet }),
    sample(account.adjustBalance, { accountId, ...amount }, { action: "account.adjust", target }),
    sample(
      account.setTier,
      { accountId, ratePerMinute: 600_000, burst: 60_000 },
      { action: "account.tier", target },
    ),
    sample(
      account.setBlocked,
      { accountId, blocked: true, reason: "fraud" },
      { action: "account.block", target },
    ),
    sample(key.createKey, { accountId, name: "new" }, { action: "key.create", target }),
    sample(key.updateKey, { keyId, name: "newer" }, { action: "key.update", target: keyId }),
    sample(key.createKeyGroup, { accountId, name: "CI" }, { action: "key-group.create", target }),
    sample(key.updateKeyGroup, { groupId, name: "builds" }, { action: "key-group.update", target: groupId }),
    sample(key.deleteKeyGroup, { groupId }, { action: "key-group.delete", target: groupId }),
    sample(key.revokeKey, { keyId }, { action: "key.revoke", target: keyId }),
    sample(
      operations.applyConfig,
      { document: "{}", note: "spring" },
      { action: "config.apply", target: "configuration after version any", details: { note: "spring" } },
    ),
    sample(
      operations.rollBackConfig,
      { version: 1, expectedVersion: 1 },
      { action: "config.rollback", target: "configuration after version 1" },
    ),
    sample(
      operations.tryTool,
      { document: "{}", tool: "none", params: "{}" },
      {
        action: "tools.try",
        target: "none",
        details: { tool: "none", document_sha256: hash("sha256", "{}"), variables: [], hosts: [] },
        failure: expect.stringContaining("INVALID_REQUEST: tool: "),
      },
    ),
    sample(
      treasury.assignSuspense,
      { txSignature, owner, reason: "his" },
      { action: "suspense.assign", target: txSignature },
    ),
    sample(
      treasury.refundReceipt,
      { receiptId, reason: "bad" },
      { action: "receipt.refund", target: receiptId },
    ),
  ]);
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
        accountId: operator.agent.accountId,
        actor: operator.agent.keyId,
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

describe("every operator's method", () => {
  it("rejects an ordinary key", async () => {
    const methods = operatorsMethods(BINDINGS).map(({ method }) => method as DescMethodUnary);
    expect(methods.length).toBeGreaterThan(30);
    for (const method of methods)
      expect(await codeOf(call(method, {}, customer)), method.name).toBe("PERMISSION_DENIED");
  });

  it("is for gRPC only", async () => {
    const headers = { authorization: `Bearer ${operator.agent.apiKey}` };
    const { baseUrl } = world.gateway;
    for (const make of [createConnectTransport, createGrpcWebTransport]) {
      const accounts = createClient(AccountService, make({ baseUrl, httpVersion: "1.1" }));
      const answer = accounts.getAccount({ accountId: customer.accountId }, { headers });
      await expect(answer).rejects.toMatchObject({ code: Code.Unimplemented });
    }
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
    expect(
      await codeOf(call(AccountService.method.setTier, { accountId: operator.agent.accountId, burst: -1 })),
    ).toBe("INVALID_ARGUMENT");
    const change = { accountId: customer.accountId, ratePerMinute: 5, burst: 5 };
    expect(await codeOf(call(AccountService.method.setTier, change, customer))).toBe("PERMISSION_DENIED");
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
      expect(await codeOf(answer)).toBe("INTERNAL");
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
      world.ports,
      createLogger("silent", { secrets: [] }),
    );
    await accounts.setOperator(accountId, false);
    await accounts.setBlocked(accountId, { blocked: true, reason: "late" });
    await accounts.setBlocked(accountId, { blocked: false, reason: "paid" });
    await accounts.setTier(accountId, { ratePerMinute: 600_000, burst: 60_000 });
    await accounts.create(customer.wallet.publicKey.toBase58());
    await accounts.adjust({ accountId, amount: 5n, reason: "gift", idempotencyKey: "once" });
    const limits = { ...NO_LIMITS, expiresAt: new Date("2100-01-01"), perCall: 5n, tools: new Set(["t"]) };
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
    const unlimited = { perDay: null, perMonth: null, inAll: null };
    const limited = { expiresAt: "2100-01-01T00:00:00.000Z", perCall: "5", tools: ["t"], warnPercent: 80 };
    expect(JSON.parse(items.find(({ action }) => action === "key.create")?.details ?? "")).toEqual({
      ...details,
      limits: { ...unlimited, ...limited },
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
