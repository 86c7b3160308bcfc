import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ChainLookupLimit } from "./app/payments/chain-lookup-limit.ts";
import { PaymentMethods } from "./app/payments/payment-methods.ts";
import type { Metrics } from "./app/operations/metrics.ts";
import { openCell } from "./app/operations/open-cell.ts";
import { withoutRepeats } from "./app/operations/repeated-faults.ts";
import { Readiness } from "./app/operations/readiness.ts";
import type { ServeConfig } from "./config/config.ts";
import type { Cell } from "./domain/core/ids.ts";
import { ToolgateError } from "./domain/core/errors.ts";
import type { DevConsole } from "./gateway/console-files.ts";
import { callPorts, type CallPorts, openToolParts, type ToolParts } from "./gateway/call-tool-deps.ts";
import { Certificates } from "./gateway/certificates.ts";
import { createServers, type Servers } from "./gateway/servers.ts";
import { hostInUrls, listenOnPort } from "./gateway/listen.ts";
import type { Addresses, Listener, PortSetting } from "./gateway/listen.ts";
import { createWorker } from "./gateway/background-worker.ts";
import { openSponsor, openRelay } from "./gateway/relay.ts";
import { measuredPostgres, reportReadiness, openObservation } from "./gateway/observation.ts";
import { paymentMethods } from "./gateway/payment-methods.ts";
import type { Reloaded } from "./gateway/config-follower.ts";
import type { EngineOpener } from "./gateway/sandbox.ts";
import { openArchive } from "./archive/open-archive.ts";
import type { Log } from "./domain/core/log.ts";
import type { Tracer } from "./domain/core/span.ts";
import { openPostgres, type Postgres } from "./postgres/index.ts";
import { openChain, SolanaTreasury, type SolanaChain } from "./solana/index.ts";
import { systemClock, systemRandom } from "./system.ts";

/** Time for aborted calls to end their runs and send responses, ms. */
const ABORTED_MS = 1_000;

/** Error for calls that outlast the shutdown's grace period. */
const STOPPING = new ToolgateError(
  "UNAVAILABLE",
  "the service is stopping; nothing was charged, repeat the call with the same idempotency key or proof",
  { retryAfterSeconds: 1 },
);

/** A running gateway. */
export interface Gateway extends Addresses {
  /** host:port of the metrics server; undefined unless METRICS_PORT is set */
  readonly metricsAddress: string | undefined;
  readonly payTo: string;
  readonly usdcMint: string;
  /**
   * Takes over settings that need no restart. @throws ConfigError when the configuration cannot be used; then
   * everything stays as it is
   */
  reload(next: ServeConfig): Promise<Reloaded>;
  /** The values of all metrics; none without METRICS_PORT. */
  metricValues(): Promise<readonly object[]>;
  /**
   * Is unready for DRAIN_MS, then stops accepting calls, finishes running ones, hands over the leadership and
   * closes.
   * @param isReplaced whether another process serves the same ports: then no client needs to notice
   */
  close(isReplaced?: boolean): Promise<void>;
}

export interface StartOptions {
  /** Ports that may move to a free one when taken. */
  readonly movable?: readonly PortSetting[];
  /** Wraps the dependencies of calls; tests use it to observe or disturb them. */
  readonly wrapPorts?: (ports: CallPorts) => CallPorts;
  /** Never set in production. */
  readonly devConsole?: DevConsole | undefined;
  /** UUID of this instance; a new one by default. */
  readonly instanceId?: string;
  /** The sandbox that the worker processes of an instance share; the primary process also serves metrics. */
  readonly sharedSandbox?: EngineOpener;
}

/**
 * Composes the gateway and starts its servers. Preconditions: start-checks.ts.
 * @throws ConfigError when a port is taken or the fee payer's key is invalid; closes everything first
 */
export async function startGateway(
  config: ServeConfig,
  log: Log,
  options: StartOptions = {},
): Promise<Gateway> {
  const { movable = [], wrapPorts = (ports) => ports, instanceId = randomUUID() } = options;
  const { devConsole, sharedSandbox } = options;
  const sponsor = await openSponsor(config);
  const observation = await openObservation(config, instanceId, log, later, sharedSandbox !== undefined);
  const { metrics, metricsServer, tracer, requests } = observation;
  const cell = openCell(config.CELL, { clock: systemClock, metrics, log });
  const postgres = await openDatabase(config, instanceId, cell, metrics, log);
  const chain = openConfiguredChain(config, metrics, tracer, log);
  const stopping = new AbortController();
  const { signal } = stopping;
  const tls = await Certificates.open(config, metrics, log, signal);
  const parts = await openToolParts(config, postgres, metrics, log, devConsole === undefined, sharedSandbox);
  const proofs = new ChainLookupLimit(systemClock, metrics, (accountId) => hasReceipts(postgres, accountId));
  const relay = openRelay({ config, sponsor, postgres, chain, proofs, metrics, log, stopping: signal });
  const treasury = openTreasury(config, chain, log);
  const paying = { cell, relay: relay?.relay, proofs, treasury };
  const ports = wrapPorts(callPorts(config, postgres, chain, parts, paying, signal));
  const deps = { ...ports, payments: new PaymentMethods(paymentMethods(ports)) };
  let addresses: Addresses = addressesOf(config, hostInUrls(config.HOST), 0);
  const readiness = readinessOf(config, postgres, parts, metrics);
  const servers = createServers({
    config,
    postgres,
    deps,
    relay: relay?.relay,
    chain,
    readiness,
    metrics,
    requests,
    log,
    errors: postgres.withoutOutageErrors(withoutRepeats(log, later)),
    addresses: () => addresses,
    devConsole,
    tls,
  });
  const worker = createWorker({ config, postgres, chain, treasury, deps, relay, metrics, log });
  let listening = false;
  const close = async (isReplaced = false) => {
    if (!isReplaced) readiness.drain();
    servers.http.drain();
    await servers.grpc.drain();
    if (listening && !isReplaced) await sleep(config.DRAIN_MS);
    await closeServers(servers, config.SHUTDOWN_GRACE_MS, stopping);
    // Other instances finish relayed payments whose callers disconnected.
    stopping.abort(STOPPING);
    await relay?.relay.settled();
    await worker.close();
    await parts.close();
    chain.close();
    await postgres.close();
    await observation.close();
  };
  const listen = (setting: PortSetting, listener: Listener) =>
    listenOnPort(listener, config, setting, movable.includes(setting));
  try {
    const port = await listen("PORT", servers.http);
    const grpcPort = await listen("GRPC_PORT", servers.grpc);
    const metricsPort = metricsServer && (await listen("METRICS_PORT", metricsServer));
    listening = true;
    for (const part of [postgres, worker, parts]) part.start();
    addresses = addressesOf(config, `${hostInUrls(config.HOST)}:${port}`, grpcPort);
    return {
      ...addresses,
      metricsAddress: metricsAddressOf(config, metricsPort),
      payTo: chain.treasury.tokenAccount,
      usdcMint: chain.treasury.mint,
      reload: (next) => parts.reloader.reload(next),
      metricValues: observation.values,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function readinessOf(
  config: ServeConfig,
  { health }: Postgres,
  parts: ToolParts,
  metrics: Metrics,
): Readiness {
  const readiness = new Readiness({
    health,
    sandbox: () => parts.sandbox?.selfTestStatus() ?? "off",
    sandboxRequired: config.SANDBOX_ISOLATION === "required",
    config: () => parts.configuration.state,
  });
  reportReadiness(metrics, readiness);
  return readiness;
}

/** Does not keep the process running. */
function later(ms: number, run: () => void): void {
  setTimeout(run, ms).unref();
}

async function openDatabase(
  config: ServeConfig,
  instanceId: string,
  cell: Cell,
  metrics: Metrics,
  log: Log,
): Promise<Postgres> {
  const postgres = await openPostgres({
    url: config.DATABASE_URL,
    directUrl: config.DATABASE_DIRECT_URL,
    readUrl: config.DATABASE_READ_URL,
    instanceId,
    clock: systemClock,
    random: systemRandom,
    leaseMs: config.RUN_LEASE_MS,
    poolSize: config.DATABASE_POOL,
    operatorLog: config.OPERATOR_LOG,
    archive: await openArchive(config),
    onReleased: (runs) => metrics.count("toolgate_runs_released_total", runs),
    metrics,
    cell,
    log,
  });
  return measuredPostgres(postgres, metrics);
}

function openConfiguredChain(
  config: ServeConfig,
  metrics: Metrics,
  tracer: Tracer | undefined,
  log: Log,
): SolanaChain {
  return openChain({
    urls: config.SOLANA_RPC_URLS,
    treasuryOwner: config.TREASURY_OWNER,
    memoPrefix: config.MEMO_PREFIX,
    waitMs: config.PAYMENT_WAIT_MS,
    finalizedAbove: BigInt(config.FINALIZED_ABOVE_MICROUSD),
    clock: systemClock,
    metrics,
    tracer,
    log,
  });
}

function openTreasury(config: ServeConfig, { rpc, treasury }: SolanaChain, log: Log): SolanaTreasury {
  const finalizedAbove = BigInt(config.FINALIZED_ABOVE_MICROUSD);
  return new SolanaTreasury({ rpc, treasury, memoPrefix: config.MEMO_PREFIX, finalizedAbove, log });
}

async function hasReceipts({ accountQueries: { receipts } }: Postgres, accountId: string): Promise<boolean> {
  const query = { accountId, limit: 1, cursor: undefined, status: undefined };
  return (await receipts.list(query)).items.length > 0;
}

/** Waits for running calls; aborts them after the grace period and cuts connections soon after. */
async function closeServers(servers: Servers, graceMs: number, stopping: AbortController): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const overdue = setTimeout(() => stopping.abort(STOPPING), graceMs);
  const cut = setTimeout(() => {
    servers.http.destroy();
    aborted.resolve();
  }, graceMs + ABORTED_MS);
  await Promise.all([servers.http.close(), servers.grpc.close(graceMs + ABORTED_MS)]);
  // Calls whose callers disconnected may be paid for, so they finish too.
  await Promise.race([servers.idle(), aborted.promise]);
  clearTimeout(overdue);
  clearTimeout(cut);
}

function metricsAddressOf({ METRICS_HOST }: ServeConfig, port: number | undefined): string | undefined {
  return port === undefined ? undefined : `${hostInUrls(METRICS_HOST)}:${port}`;
}

/** Returns the configured public addresses, or those the servers listen on (host:port). */
function addressesOf(config: ServeConfig, http: string, grpcPort: number): Addresses {
  const baseUrl = config.PUBLIC_URL ?? `${config.TLS_CERT === undefined ? "http" : "https"}://${http}`;
  const consoleUrl = config.CONSOLE_URL ?? `${baseUrl.replace(/\/$/, "")}/console`;
  return { baseUrl, consoleUrl, grpcAddress: `${hostInUrls(config.HOST)}:${grpcPort}` };
}
