import { randomUUID } from "node:crypto";
import { errorBindings as errorErrors } from "#gen/toolgate/v1/error_http.ts";
import { errorBindings as healthErrors, healthServiceRoutes } from "#gen/toolgate/v1/health_service_http.ts";
import { errorBindings as paymentErrors } from "#gen/toolgate/v1/payment_http.ts";
import { receiptServiceRoutes } from "#gen/toolgate/v1/receipt_service_http.ts";
import { runServiceRoutes } from "#gen/toolgate/v1/run_service_http.ts";
import { toolServiceRoutes } from "#gen/toolgate/v1/tool_service_http.ts";
import { createTranscoder } from "#httpjson/runtime/index.ts";
import { Catalogue } from "./app/catalogue.ts";
import type { CallToolDeps } from "./app/call-tool.ts";
import { ConfigError, type ServeConfig } from "./config/config.ts";
import type { ChatModels } from "./domain/chat.ts";
import { ToolgateError } from "./domain/errors.ts";
import { Quotes } from "./domain/quote.ts";
import type { Logger } from "./log.ts";
import { openPostgres, type Postgres } from "./postgres/index.ts";
import { openChain, type SolanaChain } from "./solana/index.ts";
import { systemClock, systemRandom } from "./system.ts";
import { makeTools } from "./tools/index.ts";
import { Access } from "./transport/access.ts";
import { AddressLimit } from "./transport/address-limit.ts";
import { connectDoor } from "./transport/connect/connect-door.ts";
import { GrpcServer } from "./transport/grpc/server.ts";
import { Cors } from "./transport/http/cors.ts";
import { Facade } from "./transport/http/facade.ts";
import { HttpServer } from "./transport/http/server.ts";
import { JsonRpcDoor } from "./transport/mcp/json-rpc-door.ts";
import { Pipeline } from "./transport/pipeline.ts";
import { accountService } from "./transport/services/account-service.ts";
import { auditService } from "./transport/services/audit-service.ts";
import { healthService } from "./transport/services/health-service.ts";
import { keyService } from "./transport/services/key-service.ts";
import { receiptService } from "./transport/services/receipt-service.ts";
import { runService } from "./transport/services/run-service.ts";
import { toolService } from "./transport/services/tool-service.ts";
import { treasuryService } from "./transport/services/treasury-service.ts";
import { VERSION } from "./version.ts";

/** How long calls that a shutdown has aborted have to end their runs and answer their callers, ms. */
const ABORTED_MS = 1_000;

/** What is told to those whose calls outlast a shutdown's grace period. */
const STOPPING = new ToolgateError(
  "UNAVAILABLE",
  "the service is stopping; nothing was charged, repeat the call with the same idempotency key or proof",
  { retryAfterSeconds: 1 },
);

/** A gateway at work. */
export interface Gateway {
  /** `{base_url}` of the specification. */
  readonly baseUrl: string;
  readonly consoleUrl: string;
  /** host:port */
  readonly grpcAddress: string;
  readonly payTo: string;
  readonly usdcMint: string;
  /** Stops accepting, finishes what runs, hands the rest over, closes. */
  close(): Promise<void>;
}

/** The doors' settings. */
export type PortSetting = "PORT" | "GRPC_PORT";

/** What differs between those that start a gateway. */
export interface StartOptions {
  /** Doors that take a free port where theirs is taken. */
  readonly movable?: readonly PortSetting[];
  /** Stands around what the calls work with, to watch it or to disturb it. */
  readonly around?: (deps: CallToolDeps) => CallToolDeps;
}

/**
 * Puts all parts together and opens the doors. The outside world is expected to be fit: see start-checks.ts.
 * @throws ConfigError when a port cannot be had; nothing is left open then
 */
export async function startGateway(
  config: ServeConfig,
  log: Logger,
  { movable = [], around = (deps) => deps }: StartOptions = {},
): Promise<Gateway> {
  const postgres = await openPostgres({
    url: config.DATABASE_URL,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: config.RUN_LEASE_MS,
    poolSize: config.DATABASE_POOL,
    log,
  });
  const chain = openChain({
    urls: config.SOLANA_RPC_URLS,
    treasuryOwner: config.TREASURY_OWNER,
    memoPrefix: config.MEMO_PREFIX,
    waitMs: config.PAYMENT_WAIT_MS,
    finalizedAbove: BigInt(config.FINALIZED_ABOVE_MICROUSD),
    clock: systemClock,
    log,
  });
  const stopping = new AbortController();
  const deps = around(await callToolDeps(config, postgres, chain, stopping.signal));
  const doors = makeDoors(config, postgres, deps, chain, log);
  const close = async () => {
    const graceMs = config.SHUTDOWN_GRACE_MS;
    const aborted = Promise.withResolvers<void>();
    const overdue = setTimeout(() => stopping.abort(STOPPING), graceMs);
    const cut = setTimeout(() => {
      doors.http.destroy();
      aborted.resolve();
    }, graceMs + ABORTED_MS);
    await Promise.all([doors.http.close(), doors.grpc.close(graceMs + ABORTED_MS)]);
    // What runs for callers that have gone is finished too: it may have been paid for.
    await Promise.race([doors.pipeline.idle(), aborted.promise]);
    clearTimeout(overdue);
    clearTimeout(cut);
    chain.close();
    await postgres.close();
  };
  const listen = (setting: PortSetting, door: Door) => open(door, config, setting, movable.includes(setting));
  try {
    const port = await listen("PORT", doors.http);
    const grpcPort = await listen("GRPC_PORT", doors.grpc);
    postgres.start();
    const host = config.HOST === "0.0.0.0" || config.HOST === "::" ? "127.0.0.1" : config.HOST;
    const baseUrl = config.PUBLIC_URL ?? `http://${host}:${port}`;
    return {
      baseUrl,
      consoleUrl: config.CONSOLE_URL ?? `${baseUrl}/console`,
      grpcAddress: `${host}:${grpcPort}`,
      payTo: chain.treasury.tokenAccount,
      usdcMint: chain.treasury.mint,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Door {
  listen(host: string, port: number): Promise<number>;
}

/** @throws ConfigError when the port cannot be had */
async function open(door: Door, config: ServeConfig, setting: PortSetting, movable: boolean): Promise<number> {
  const port = config[setting];
  try {
    return await door.listen(config.HOST, port);
  } catch (error) {
    // The two servers tell it in different ways, but both in these letters.
    const reason = error instanceof Error ? error.message : String(error);
    if (movable && reason.includes("EADDRINUSE")) return door.listen(config.HOST, 0);
    throw new ConfigError([
      `${setting}: cannot listen on port ${port} (${reason}); set another port, or 0 for a free one`,
    ]);
  }
}

async function callToolDeps(
  config: ServeConfig,
  postgres: Postgres,
  chain: SolanaChain,
  stopping: AbortSignal,
): Promise<CallToolDeps> {
  const { prices, upstreams } = config;
  const inference = upstreams.length === 0 ? undefined : await openModels(upstreams);
  const balance = (accountId: string) => postgres.ledger.balance(accountId);
  return {
    catalogue: new Catalogue(makeTools({ version: VERSION, balance, prices, inference })),
    ledger: postgres.ledger,
    // A call that waits for its transaction has run nothing yet: it ends with the grace period.
    chain: {
      verify: ({ txSignature, signal }) => chain.verify({ txSignature, signal: AbortSignal.any([signal, stopping]) }),
    },
    quotes: new Quotes(postgres.sealingKeys, systemClock, systemRandom, config.QUOTE_TTL_SECONDS),
    clock: systemClock,
    random: systemRandom,
    memoPrefix: config.MEMO_PREFIX,
    finalizedAbove: BigInt(config.FINALIZED_ABOVE_MICROUSD),
    stopping,
  };
}

/** Imported only where there is something to open: the client library is the dearest import of a start. */
async function openModels(upstreams: ServeConfig["upstreams"]): Promise<ChatModels> {
  const { UpstreamModels } = await import("./inference/upstream-models.ts");
  return UpstreamModels.open(upstreams, AbortSignal.timeout(15_000));
}

function makeDoors(
  config: ServeConfig,
  postgres: Postgres,
  deps: CallToolDeps,
  chain: SolanaChain,
  log: Logger,
): { pipeline: Pipeline; http: HttpServer; grpc: GrpcServer } {
  const { tokenAccount: payTo, owner: treasuryOwner, mint: usdcMint } = chain.treasury;
  const payment = { payTo, treasuryOwner, usdcMint, memoPrefix: config.MEMO_PREFIX, feePayer: undefined };
  const open = [
    toolService(deps, payment, VERSION),
    receiptService(postgres.receipts),
    runService(postgres.runs),
    healthService(postgres.health, VERSION),
  ];
  const { suspense, refunds, treasuryBooks: books } = postgres;
  const internal = [
    accountService(postgres.accounts),
    keyService(postgres.apiKeys),
    auditService(postgres.audit),
    treasuryService({ suspense, refunds, books, tokenAccount: payTo }),
  ];
  const addresses = new AddressLimit({ clock: systemClock, trustedProxies: config.TRUSTED_PROXY_HOPS });
  const access = new Access(postgres.authenticator, postgres.rateLimiter, addresses);
  const pipeline = new Pipeline(access, [...open, ...internal], log);
  const common = { pipeline, random: systemRandom, bodyLimit: config.BODY_LIMIT_BYTES };
  const facade = new Facade({
    ...common,
    transcoder: createTranscoder([toolServiceRoutes, receiptServiceRoutes, runServiceRoutes, healthServiceRoutes]),
    errorBindings: [...errorErrors, ...paymentErrors, ...healthErrors],
    jsonRpc: new JsonRpcDoor(pipeline, deps.catalogue),
  });
  const connect = connectDoor({ ...common, services: open.map(({ service }) => service) });
  const services = [...open, ...internal].map(({ service }) => service);
  return {
    pipeline,
    http: new HttpServer(facade, connect, new Cors(config.CORS_ORIGINS ?? [])),
    grpc: new GrpcServer({ ...common, services, health: postgres.health }),
  };
}
