import type { ConfigAdmin } from "../app/operations/config-versions.ts";
import { Operations } from "../app/operations/operations.ts";
import type { RequestTimelines } from "../app/operations/request-timeline.ts";
import type { KeyRules } from "../domain/accounts/new-key.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";
import { accountService } from "../transport/services/accounts/account-service.ts";
import { auditService } from "../transport/services/operations/audit-service.ts";
import { audited } from "../transport/services/operations/audited.ts";
import { keyService } from "../transport/services/accounts/key-service.ts";
import { operationsService } from "../transport/services/operations/operations-service.ts";
import type { ServiceBinding } from "../transport/endpoint.ts";
import { treasuryService } from "../transport/services/treasury/treasury-service.ts";
import type { Config, ServeConfig } from "../config/config.ts";
import type { Quotes } from "../domain/payments/quote.ts";
import { SolanaStatus } from "../solana/index.ts";
import type { SolanaRpc } from "../solana/rpc/rpc.ts";
import type { Treasury } from "../solana/core/treasury.ts";
import { systemClock } from "../system.ts";
import { TokenBuckets } from "../transport/token-buckets.ts";
import { webhookService } from "../transport/services/webhooks/webhook-service.ts";
import type { CallToolDeps } from "../app/calls/call-tool.ts";

export interface OperatorParts {
  readonly postgres: Postgres;
  readonly keyRules: () => KeyRules;
  readonly operations: Operations;
  readonly timelines: RequestTimelines;
  readonly configAdmin: ConfigAdmin;
  /** The treasury's token account, base58. */
  readonly tokenAccount: string;
  readonly log: Log;
}

/** Returns the operator's services for every transport; each change is written to the operator log first. */
export function operatorServices(parts: OperatorParts): ServiceBinding[] {
  const { postgres, keyRules, operations, timelines, configAdmin, tokenAccount, log } = parts;
  const { suspense, refunds, treasuryLedger } = postgres;
  const services: readonly ServiceBinding[] = [
    accountService(postgres.accounts),
    keyService(postgres, keyRules),
    auditService(postgres.audit),
    treasuryService({ suspense, refunds, treasuryLedger, tokenAccount }),
    operationsService(operations, timelines, configAdmin, {
      jobRuns: postgres.jobRuns,
      revenueReports: postgres.accountQueries.revenueReports,
    }),
  ];
  return services.map((binding) => audited(binding, { actions: postgres.operatorActions, log }));
}

export interface OperationsParts {
  readonly config: Pick<Config, "GASLESS_LOW_LAMPORTS" | "GASLESS_DAILY_LAMPORTS" | "WATCH_INTERVAL_MS">;
  readonly postgres: Postgres;
  readonly chain: { readonly rpc: SolanaRpc; readonly treasury: Treasury };
  readonly quotes: Pick<Quotes, "open">;
  /** The relay's fee payer, base58; undefined when gasless is off. */
  readonly feePayer: string | undefined;
}

/** Creates the operator's status and history queries. */
export function createOperations({
  config,
  postgres,
  chain,
  quotes,
  feePayer: address,
}: OperationsParts): Operations {
  const lowLamports = BigInt(config.GASLESS_LOW_LAMPORTS);
  const dailyLamports = BigInt(config.GASLESS_DAILY_LAMPORTS);
  return new Operations({
    chain: new SolanaStatus(chain.rpc, chain.treasury),
    queries: postgres.operations,
    treasuryLedger: postgres.treasuryLedger,
    treasury: chain.treasury,
    feePayer: address === undefined ? undefined : { address, lowLamports, dailyLamports },
    relays: postgres.relays,
    actions: postgres.operatorActions,
    lastAudit: postgres.lastAudit,
    quotes,
    clock: systemClock,
    watchIntervalMs: config.WATCH_INTERVAL_MS,
  });
}

interface Parts {
  readonly config: Pick<ServeConfig, "WEBHOOK_NETWORK">;
  readonly postgres: Pick<Postgres, "webhooks" | "operatorActions">;
  readonly log: Log;
}

/** Challenges, test events and replays of an account. */
const WEBHOOK_SENDS = { ratePerMinute: 5, burst: 10 };

/** The service of webhook endpoints, for API keys and for sessions of the console. */
export function createWebhookService({ config, postgres, log }: Parts): ServiceBinding {
  return webhookService({
    endpoints: postgres.webhooks.endpoints,
    sends: new TokenBuckets(systemClock, WEBHOOK_SENDS),
    http: config.WEBHOOK_NETWORK === "any",
    actions: postgres.operatorActions,
    log,
  });
}

/** Returns the rules for new keys: existing tools and the current time. */
export function keyRulesOf({ catalogue, clock }: Pick<CallToolDeps, "catalogue" | "clock">): () => KeyRules {
  return () => ({ tools: catalogue.tools.map(({ name }) => name), now: clock.now() });
}
