import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { HealthService } from "#gen/toolgate/v1/health_service_pb.ts";
import { KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import { ReceiptService } from "#gen/toolgate/v1/receipt_service_pb.ts";
import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { testRequestIds } from "./test-request-ids.ts";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import type { Account, Accounts, TierChange } from "../../src/app/accounts/accounts.ts";
import type { DatabaseState } from "../../src/app/operations/health.ts";
import type { ApiKeys, ListedKey } from "../../src/app/accounts/api-keys.ts";
import type { KeyGroups } from "../../src/app/accounts/key-groups.ts";
import type { PaymentMethod } from "../../src/app/payments/payment-method.ts";
import type { PaymentVerdict } from "../../src/app/payments/payment-verifier.ts";
import type { Caller } from "../../src/domain/accounts/caller.ts";
import { newId } from "../../src/domain/core/ids.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import { DEFAULT_TIER, type RateDecision } from "../../src/domain/accounts/rate-limit.ts";
import { SCOPES, type Scope } from "../../src/domain/accounts/scope.ts";
import { KeyAuthenticator } from "../../src/transport/key-authenticator.ts";
import { connectHandler } from "../../src/transport/connect/connect-handler.ts";
import { type GrpcLimits, GrpcServer } from "../../src/transport/grpc/server.ts";
import { Pipeline } from "../../src/transport/pipeline.ts";
import { accountService } from "../../src/transport/services/accounts/account-service.ts";
import { healthService } from "../../src/transport/services/operations/health-service.ts";
import { keyService } from "../../src/transport/services/accounts/key-service.ts";
import { receiptService } from "../../src/transport/services/calls/receipt-service.ts";
import { runService } from "../../src/transport/services/calls/run-service.ts";
import { PaymentRequiredMessages } from "../../src/transport/services/calls/payment-required-message.ts";
import { X402Offers } from "../../src/transport/x402/offers.ts";
import { toolService } from "../../src/transport/services/calls/tool-service.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { TestTools } from "./test-tools.ts";
import { unlimitedWork } from "../app/context.ts";
import { unusedPaymentPorts, withPayments } from "../app/payments/payment-ports.ts";
import { RequestRecorder, type RequestRecord } from "../../src/app/operations/request-record.ts";

export const BODY_LIMIT = 64 * 1024;

export const PAYMENT = {
  payTo: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
  usdcMint: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
  memoPrefix: "svc",
};

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) };
const clock = { now: () => Date.now() };

/**
 * All transports with an in-memory ledger and chain.
 * @param limits overrides the gRPC limits
 * @param methods payment methods beside the registered ones
 */
export async function startGateway(limits: Partial<GrpcLimits> = {}, methods: readonly PaymentMethod[] = []) {
  const ledger = new MemoryLedger();
  const tools = new TestTools();
  const callers = new Map<string, Caller>();
  const rate: { decision: RateDecision; asked: number; before: Promise<void> | undefined } = {
    asked: 0,
    before: undefined,
    decision: { allowed: true, limit: 60, remaining: 9, resetAt: 1_800_000_000, retryAfterSeconds: 0 },
  };
  const health = {
    up: true,
    checks: 0,
    async check() {
      health.checks += 1;
      return health.up;
    },
    state: async (): Promise<DatabaseState> => (health.up ? "ok" : "unreachable"),
  };
  const chain = { verdict: { kind: "not_found" } as PaymentVerdict, verify: async () => chain.verdict };
  const logged: { requestId?: string; err?: unknown }[] = [];
  const secret = randomBytes(32);
  const quotes = new Quotes(
    { current: () => ({ version: 1, secret }), version: () => ({ version: 1, secret }) },
    clock,
    random,
    300,
  );
  const stopping = new AbortController();
  const deps = {
    unpaidWork: unlimitedWork,
    catalogue: new Catalogue(tools.list()),
    ledger,
    chain,
    quotes,
    clock,
    random,
    ...unusedPaymentPorts,
    stopping: stopping.signal,
  };
  const access = new KeyAuthenticator(
    { authenticate: (key) => callers.get(key) },
    {
      take() {
        rate.asked++;
        return rate.before ? rate.before.then(() => rate.decision) : rate.decision;
      },
    },
  );
  const pages = pagesOf(ledger);
  const paying = withPayments(deps, methods);
  const services = [
    toolService(
      paying,
      {
        offers: new X402Offers({
          payments: paying.payments,
          baseUrl: () => "http://gateway.test",
          signed: { offered: () => ({}) },
          v1: false,
        }),
        messages: new PaymentRequiredMessages(PAYMENT, paying.payments),
      },
      "1.2.3",
    ),
    receiptService(pages.receipts),
    runService(pages.runs),
    healthService(health, "1.2.3"),
    accountService(memoryAccounts(ledger)),
    keyService({ apiKeys: memoryKeys(), keyGroups: unusedGroups }, () => ({ tools: ["echo"], now: 0 })),
  ];
  const records: RequestRecord[] = [];
  const requests = new RequestRecorder([{ ended: (record) => void records.push(record) }], performance);
  const pipeline = new Pipeline(access, services, { error: (fields) => void logged.push(fields) }, requests);
  const open = [ToolService, ReceiptService, RunService, HealthService];
  const requestIds = testRequestIds();
  const grpc = new GrpcServer({
    pipeline,
    services: [...open, AccountService, KeyService],
    health,
    requestIds,
    bodyLimit: BODY_LIMIT,
    watchIntervalMs: 20,
    limits,
  });
  const connect = connectHandler({ pipeline, services: open, requestIds, bodyLimit: BODY_LIMIT });
  const http = createServer(connect.handle);
  const grpcPort = await grpc.listen("127.0.0.1", 0);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;

  return {
    records,
    ledger,
    tools,
    rate,
    health,
    chain,
    logged,
    grpc,
    pipeline,
    catalogue: deps.catalogue,
    connect,
    prefixes: connect.prefixes,
    grpcAddress: `127.0.0.1:${grpcPort}`,
    baseUrl: `http://127.0.0.1:${port}`,
    /** Creates a caller with a balance in micro-USD. */
    key({
      balance = 0n,
      scopes = SCOPES,
      operator = false,
    }: { balance?: bigint; scopes?: readonly Scope[]; operator?: boolean } = {}) {
      const accountId = newId("acct", clock, random);
      const key = `sk-agent-${randomBytes(16).toString("hex")}`;
      callers.set(key, {
        keyId: newId("key", clock, random),
        accountId,
        scopes: new Set(scopes),
        tier: DEFAULT_TIER,
        accountTier: { ratePerMinute: 600, burst: 100 },
        operator,
        limits: undefined,
        budgeted: false,
        limitsVersion: 0,
        blockedReason: undefined,
      });
      ledger.balances.set(accountId, balance);
      return { key, accountId, authorization: `Bearer ${key}` };
    },
    async close() {
      stopping.abort();
      http.closeAllConnections();
      await Promise.all([grpc.close(0), new Promise((resolve) => http.close(resolve))]);
    },
  };
}

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

function pagesOf(ledger: MemoryLedger) {
  const of = <Item extends { status: string }>(
    items: (accountId: string) => Item[],
    idOf: (item: Item) => string,
  ) => ({
    async list({
      accountId,
      limit,
      status,
    }: {
      accountId: string;
      limit: number;
      status: string | undefined;
    }) {
      const all = items(accountId).filter((item) => status === undefined || item.status === status);
      return { items: all.slice(0, limit), nextCursor: all.length > limit ? "next" : undefined };
    },
    async find(accountId: string, id: string) {
      return items(accountId).find((item) => idOf(item) === id);
    },
  });
  const own = (accountId: string) => ledger.entries.filter(({ call }) => call.accountId === accountId);
  return {
    receipts: of(
      (accountId) => own(accountId).flatMap(({ receipt }) => receipt ?? []),
      (receipt) => receipt.receiptId,
    ),
    runs: of(
      (accountId) => own(accountId).map(({ run }) => run),
      (run) => run.runId,
    ),
  };
}

function memoryAccounts(ledger: MemoryLedger): Accounts {
  const account = async (accountId: string, change: TierChange = {}): Promise<Account> => ({
    accountId,
    wallet: "wallet",
    balance: await ledger.balance(accountId),
    tierName: change.tier ?? "default",
    ...tiersOf(change),
    operator: false,
    blockedReason: undefined,
    createdAt: new Date(0),
  });
  return {
    create: (wallet) => account(`acct_${wallet}`),
    get: (accountId) => account(accountId),
    async adjust({ accountId, amount }) {
      ledger.balances.set(accountId, (await ledger.balance(accountId)) + amount);
      return account(accountId);
    },
    setTier: (accountId, tier) => account(accountId, tier),
    setOperator: (accountId) => account(accountId),
    setBlocked: (accountId) => account(accountId),
    list: async () => ({ items: [], nextCursor: undefined }),
  };
}

function tiersOf(change: TierChange): Pick<Account, "tier" | "accountTier"> {
  const { ratePerMinute = DEFAULT_TIER.ratePerMinute, burst = DEFAULT_TIER.burst } = change;
  const { accountRatePerMinute = 10 * ratePerMinute, accountBurst = 10 * burst } = change;
  return {
    tier: { ratePerMinute, burst },
    accountTier: { ratePerMinute: accountRatePerMinute, burst: accountBurst },
  };
}

const unused = () => Promise.reject(new Error("is the console's"));

const unusedGroups: KeyGroups = { create: unused, list: unused, update: unused, delete: unused };

function memoryKeys(): ApiKeys {
  const keys: ListedKey[] = [];
  return {
    async create({ accountId, name, scopes, limits }) {
      const key = {
        lastUsedAt: undefined,
        limits,
        groupId: undefined,
        budgets: [],
        keyId: newId("key", clock, random),
        accountId,
        prefix: "sk-agent-ab",
        name,
        scopes: [...scopes],
        createdAt: new Date(0),
        revokedAt: undefined,
      };
      keys.unshift(key);
      return { key, secret: "sk-agent-abcdef" };
    },
    list: async (accountId) => keys.filter((key) => accountId === undefined || key.accountId === accountId),
    listWithUsage: unused,
    get: unused,
    update: unused,
    rotate: unused,
    async revoke(keyId) {
      const key = keys.find((one) => one.keyId === keyId);
      if (!key) throw new Error("no such key");
      key.revokedAt = new Date(1);
      return key;
    },
  };
}
