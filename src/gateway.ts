import { randomUUID } from "node:crypto";
import { ChainLookupLimit } from "./app/proof-limit.ts";
import type { CallToolDeps } from "./app/call-tool.ts";
import type { ServeConfig } from "./config/config.ts";
import { ToolgateError } from "./domain/errors.ts";
import { callToolDeps } from "./gateway/call-tool-deps.ts";
import { createServers, type Addresses } from "./gateway/servers.ts";
import { createWorker } from "./gateway/background-worker.ts";
import { openSponsor } from "./gateway/fee-payer.ts";
import { openMetrics } from "./gateway/metrics.ts";
import { hostInUrls, listenOnPort, type Listener, type PortSetting } from "./gateway/listen.ts";
import { openRelay } from "./gateway/relay.ts";
import { openToolParts } from "./gateway/tool-parts.ts";
import type { Logger } from "./log.ts";
import { openPostgres } from "./postgres/index.ts";
import { openChain } from "./solana/index.ts";
import { systemClock, systemRandom } from "./system.ts";

/** How long calls that a shutdown has aborted have to end their runs and answer their callers, ms. */
const ABORTED_MS = 1_000;

/** What is told to those whose calls outlast a shutdown's grace period. */
const STOPPING = new ToolgateError(
  "UNAVAILABLE",
  "the service is stopping; nothing was charged, repeat the call with the same idempotency key or proof",
  { retryAfterSeconds: 1 },
);

/** A gateway at work. */
export interface Gateway extends Addresses {
  /** host:port of the figures; undefined unless METRICS_PORT is set */
  readonly metricsAddress: string | undefined;
  readonly payTo: string;
  readonly usdcMint: string;
  /** Stops accepting, finishes what runs, hands the rest over, closes. */
  close(): Promise<void>;
}

/** What differs between those that start a gateway. */
export interface StartOptions {
  /** Doors that take a free port where theirs is taken. */
  readonly movable?: readonly PortSetting[];
  /** Stands around what the calls work with, to watch it or to disturb it. */
  readonly around?: (deps: CallToolDeps) => CallToolDeps;
  /** Secret key of the development setup's wallet, for the console's page; never in production. */
  readonly devWallet?: Uint8Array | undefined;
}

/**
 * Puts all parts together and opens the doors. The outside world is expected to be fit: see start-checks.ts.
 * @throws ConfigError when a port cannot be had, or the fee payer's key cannot be used; nothing is left open then
 */
export async function startGateway(
  config: ServeConfig,
  log: Logger,
  { movable = [], around = (deps) => deps, devWallet }: StartOptions = {},
): Promise<Gateway> {
  const sponsor = await openSponsor(config);
  const { metrics, server: metricsDoor } = await openMetrics(config);
  const postgres = await openPostgres({
    url: config.DATABASE_URL,
    instanceId: randomUUID(),
    clock: systemClock,
    random: systemRandom,
    leaseMs: config.RUN_LEASE_MS,
    poolSize: config.DATABASE_POOL,
    onReleased: (runs) => metrics.count("toolgate_runs_released_total", runs),
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
  const parts = await openToolParts(config, postgres, metrics, log);
  const proofs = new ChainLookupLimit(systemClock, metrics, async (accountId) => {
    const { items } = await postgres.receipts.list({
      accountId,
      limit: 1,
      cursor: undefined,
      status: undefined,
    });
    return items.length > 0;
  });
  const relay = openRelay({
    config,
    sponsor,
    postgres,
    chain,
    proofs,
    metrics,
    log,
    stopping: stopping.signal,
  });
  const deps = around(
    callToolDeps(config, postgres, chain, parts, { relay: relay?.relay, proofs }, stopping.signal),
  );
  let addresses: Addresses = addressesOf(config, hostInUrls(config.HOST), "");
  const doors = createServers({
    config,
    postgres,
    deps,
    chain,
    metrics,
    log,
    addresses: () => addresses,
    devWallet,
  });
  const keeper = createWorker({ config, postgres, chain, quotes: deps.quotes, relay, metrics, log });
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
    await Promise.race([doors.idle(), aborted.promise]);
    clearTimeout(overdue);
    clearTimeout(cut);
    // Relayed payments whose callers have gone are left to the other instances.
    stopping.abort(STOPPING);
    await relay?.relay.settled();
    await keeper.close();
    await parts.close();
    chain.close();
    await postgres.close();
    await metricsDoor?.close();
  };
  const listen = (setting: PortSetting, door: Listener) =>
    listenOnPort(door, config, setting, movable.includes(setting));
  try {
    const port = await listen("PORT", doors.http);
    const grpcPort = await listen("GRPC_PORT", doors.grpc);
    const metricsPort = metricsDoor && (await listen("METRICS_PORT", metricsDoor));
    postgres.start();
    keeper.start();
    parts.start();
    const host = hostInUrls(config.HOST);
    addresses = addressesOf(config, `${host}:${port}`, `${host}:${grpcPort}`);
    return {
      ...addresses,
      metricsAddress: metricsPort === undefined ? undefined : `${host}:${metricsPort}`,
      payTo: chain.treasury.tokenAccount,
      usdcMint: chain.treasury.mint,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What an operator says of the addresses, over where the doors listen, as host:port. */
function addressesOf(config: ServeConfig, http: string, grpcAddress: string): Addresses {
  const baseUrl = config.PUBLIC_URL ?? `http://${http}`;
  const consoleUrl = config.CONSOLE_URL ?? `${baseUrl.replace(/\/$/, "")}/console`;
  return { baseUrl, consoleUrl, grpcAddress };
}
