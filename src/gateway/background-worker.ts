import { CountedRelayClaims } from "../app/payments/gasless/relay-claims.ts";
import { BackgroundWorker, partitionsJob, usageJob } from "../app/jobs/background-worker.ts";
import { disabledRelayJob, relayJobs } from "../app/jobs/relay-jobs.ts";
import { treasuryJobs } from "../app/jobs/treasury-jobs.ts";
import { webhookJobs } from "../app/jobs/webhook-jobs.ts";
import type { CallToolDeps } from "../app/calls/call-tool.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import { GuardedWebhookSender } from "../outbound/webhook-sender.ts";
import type { Postgres } from "../postgres/index.ts";
import { SolanaRelayChain, type SolanaChain, type SolanaTreasury } from "../solana/index.ts";
import { systemClock, systemRandom } from "../system.ts";
import type { OpenRelay } from "./relay.ts";

export interface WorkerParts {
  readonly config: ServeConfig;
  readonly postgres: Postgres;
  readonly chain: SolanaChain;
  readonly treasury: SolanaTreasury;
  readonly deps: Pick<CallToolDeps, "quotes" | "payments">;
  /** Undefined when gasless is off. */
  readonly relay: OpenRelay | undefined;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Creates the worker that runs the jobs of treasury, relay and webhooks; not started yet. */
export function createWorker({
  config,
  postgres,
  chain,
  treasury,
  deps: { quotes, payments },
  relay,
  metrics,
  log,
}: WorkerParts): BackgroundWorker {
  const { MEMO_PREFIX: memoPrefix } = config;
  const watchIntervalMs = config.WATCH_INTERVAL_MS;
  const { jobs, everywhere } = treasuryJobs({
    chain: treasury,
    networks: payments.networks,
    ledger: postgres.treasuryLedger,
    quotes,
    deposits: postgres.deposits,
    wallets: postgres.walletAccounts,
    audit: postgres.audit,
    fullAudit: postgres.fullAudit,
    memoPrefix,
    cell: config.CELL,
    clock: systemClock,
    metrics,
    log,
    watchIntervalMs,
    auditIntervalSeconds: config.AUDIT_INTERVAL_SECONDS,
    events: postgres.webhooks.events,
  });
  const webhooks = webhookJobs({
    ...postgres.webhooks,
    sender: new GuardedWebhookSender({ network: config.WEBHOOK_NETWORK }),
    clock: systemClock,
    random: systemRandom,
    metrics,
    log,
  });
  // Without a metrics port, skips the queries behind the gauges.
  const measured = config.METRICS_PORT === undefined ? [] : [...everywhere, ...webhooks.measuring];
  const relaying = relay
    ? relayJobs({
        ...relay,
        claims: postgres.relays,
        lowLamports: BigInt(config.GASLESS_LOW_LAMPORTS),
        metrics,
        log,
        watchIntervalMs,
      })
    : {
        jobs: [
          disabledRelayJob({
            chain: new SolanaRelayChain(chain.rpc),
            claims: new CountedRelayClaims(postgres.relays, metrics),
            log,
            watchIntervalMs,
          }),
        ],
        everywhere: [],
      };
  return new BackgroundWorker({
    leadership: postgres.treasuryLedger,
    leaderJobs: [
      ...jobs,
      ...relaying.jobs,
      ...webhooks.leader,
      partitionsJob(() => postgres.makePartitions()),
      usageJob((signal) => postgres.usageCounter.count(signal)),
    ],
    instanceJobs: [...measured, ...relaying.everywhere, ...webhooks.everywhere],
    metrics,
    runs: postgres.jobRuns,
    log: postgres.withoutOutageErrors(log),
  });
}
