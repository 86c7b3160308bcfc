import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { afterAll, beforeAll } from "vitest";
import { HealthService } from "#gen/toolgate/v1/health_service_pb.ts";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";
import { testRequestIds } from "./test-request-ids.ts";
import { Catalogue } from "../../src/app/calls/catalogue.ts";
import type { DatabaseState } from "../../src/app/operations/readiness.ts";
import type { PaymentMethod, PaymentVerdict } from "../../src/app/payments/payment-methods.ts";
import { type Caller, MAX_TIER, type RateDecision } from "../../src/domain/accounts/caller.ts";
import { Quotes } from "../../src/domain/payments/quote.ts";
import { SCOPES } from "../../src/domain/accounts/scope.ts";
import { KeyAuthenticator } from "../../src/transport/key-authenticator.ts";
import { connectHandler } from "../../src/transport/connect/connect-handler.ts";
import { type GrpcLimits, GrpcServer } from "../../src/transport/grpc/server.ts";
import { MessageSizes } from "../../src/transport/message-size.ts";
import { ClientAddresses } from "../../src/transport/remote-address.ts";
import { UnpaidTime } from "../../src/transport/unpaid-time.ts";
import { Pipeline } from "../../src/transport/pipeline.ts";
import { healthService } from "../../src/transport/services/operations/health-service.ts";
import { PaymentRequiredMessages } from "../../src/transport/services/calls/payment-required-message.ts";
import { QuoteOffers } from "../../src/transport/offers.ts";
import { PaymentChallenges } from "../../src/transport/payment-auth/challenges.ts";
import { X402Offers } from "../../src/transport/x402/offers.ts";
import { toolService } from "../../src/transport/services/calls/tool-service.ts";
import { MemoryLedger } from "./memory-ledger.ts";
import { TestTools } from "./test-tools.ts";
import { newCaller, unlimitedWork } from "../app/context.ts";
import { unusedPaymentPorts, withPayments } from "../app/payments/payment-ports.ts";
import { RequestRecorder, type RequestRecord } from "../../src/app/operations/request-record.ts";
import { listen } from "../support/servers.ts";

export const BODY_LIMIT = 64 * 1024;

export const PAYMENT = {
  payTo: "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
  usdcMint: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
  memoPrefix: "svc",
};

const random = { bytes: (length: number) => new Uint8Array(randomBytes(length)) };
const clock = { now: () => Date.now() };

/** gRPC as this project serves it, and by the public API of grpc-js alone. */
export const GRPC_SERVERS = [
  ["own", false],
  ["library", true],
] as const;

/**
 * All transports with an in-memory ledger and chain.
 * @param limits overrides the gRPC limits
 * @param methods payment methods beside the registered ones
 * @param byLibrary serves gRPC by the public API of grpc-js alone
 */
export async function startGateway(
  limits: Partial<GrpcLimits> = {},
  methods: readonly PaymentMethod[] = [],
  byLibrary = false,
) {
  const ledger = new MemoryLedger();
  const tools = new TestTools();
  const callers = new Map<string, Caller>();
  const warned: object[] = [];
  const rate: { decision: RateDecision; asked: number; before: Promise<void> | undefined } = {
    asked: 0,
    before: undefined,
    decision: { allowed: true, limit: 60, remaining: 9, resetAt: 1_800_000_000, retryAfterSeconds: 0 },
  };
  const health = {
    clockAheadMs: 0,
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
  const paying = withPayments(deps, methods);
  const services = [
    toolService(
      paying,
      {
        offers: new QuoteOffers(
          new X402Offers({
            payments: paying.payments,
            baseUrl: () => "http://gateway.test",
            signed: { offered: () => ({}) },
            v1: false,
          }),
          new PaymentChallenges({ ...paying, baseUrl: () => "http://gateway.test" }),
        ),
        messages: new PaymentRequiredMessages(PAYMENT, paying.payments),
      },
      "1.2.3",
    ),
    healthService(health, "1.2.3"),
  ];
  const records: RequestRecord[] = [];
  const requests = new RequestRecorder([{ ended: (record) => void records.push(record) }], performance);
  // Nothing takes time here, and each reading is ten seconds after the last: no request is refused for time.
  let readings = 0;
  const time = new UnpaidTime({
    clock: { now: () => 10_000 * readings++ },
    cpuMs: () => 0,
    clients: new ClientAddresses(0),
  });
  requests.observe(time);
  const log = { error: (fields: object) => void logged.push(fields) };
  const sizes = new MessageSizes(() => deps.catalogue.tools);
  const pipeline = new Pipeline(access, services, { log, requests, time, sizes });
  const served = [ToolService, HealthService];
  const requestIds = testRequestIds();
  const grpc = new GrpcServer({
    pipeline,
    services: served,
    health,
    requestIds,
    bodyLimit: BODY_LIMIT,
    watchIntervalMs: 20,
    limits,
    byLibrary,
    log: { warn: (fields) => void warned.push(fields) },
  });
  const connect = connectHandler({ pipeline, services: served, requestIds, bodyLimit: BODY_LIMIT });
  const http = createServer((request, response) => void connect.handle(request, response, stopping.signal));
  const grpcPort = await grpc.listen("127.0.0.1", 0);
  const port = await listen(http);
  return {
    records,
    ledger,
    tools,
    rate,
    health,
    chain,
    logged,
    warned,
    grpc,
    pipeline,
    catalogue: deps.catalogue,
    connect,
    prefixes: connect.prefixes,
    grpcAddress: `127.0.0.1:${grpcPort}`,
    baseUrl: `http://127.0.0.1:${port}`,
    key({ balance = 0n } = {}) {
      const caller = newCaller({ scopes: new Set(SCOPES), accountTier: MAX_TIER });
      const { accountId } = caller;
      const key = `sk-agent-${randomBytes(16).toString("hex")}`;
      callers.set(key, caller);
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

/** The gateway of a file or a `describe`. */
export function useGateway(...options: Parameters<typeof startGateway>): Gateway {
  const gateway = {} as Gateway;
  beforeAll(async () => void Object.assign(gateway, await startGateway(...options)));
  afterAll(() => gateway.close());
  return gateway;
}
