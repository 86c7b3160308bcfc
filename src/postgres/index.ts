import type { ClientBase } from "pg";
import {
  type Audit,
  type LastAudit,
  type FullAudit,
  type Seal,
  cachedAudit,
} from "../app/operations/audit.ts";
import type { AccountRequests, RequestLogQueries } from "../app/operations/account-requests.ts";
import type { Accounts, WalletAccounts } from "../app/accounts/accounts.ts";
import type { ApiKeys, KeyGroups } from "../app/accounts/api-keys.ts";
import type { Authenticator, GrantedKeys, RateLimiter, Sessions } from "../app/accounts/authenticator.ts";
import type { Health } from "../app/operations/readiness.ts";
import type { Ledger } from "../app/calls/ledger.ts";
import type { History } from "../app/calls/history.ts";
import type { DepositAccounts, Deposits } from "../app/deposits/deposits.ts";
import type { OperationsQueries, Restores } from "../app/operations/operations-queries.ts";
import type { ConfigVersions } from "../app/operations/config-versions.ts";
import type { TimelineQueries } from "../app/operations/request-timeline.ts";
import type { BalanceSteps, OperatorActionLog, SealingKeyAdmin } from "../app/operations/operator-actions.ts";
import type { JobRuns } from "../app/jobs/job.ts";
import type { Approvals } from "../app/oauth/approvals.ts";
import type { OAuthRecords, TokenSecrets } from "../app/oauth/oauth-records.ts";
import type { RelayClaims } from "../app/payments/gasless/relay-claims.ts";
import type { SandboxRuns } from "../app/calls/sandbox-runs.ts";
import type { UsedNonces, SignInChallenges } from "../app/accounts/sign-in.ts";
import type { Refunds, Suspense, TreasuryLedger } from "../app/treasury/treasury-ledger.ts";
import type { UnpaidWorkStore } from "../app/calls/unpaid-work.ts";
import { NO_CELL, type Cell } from "../domain/core/ids.ts";
import type { Clock } from "../domain/core/clock.ts";
import type { SigningKeys } from "../domain/payments/jws-signer.ts";
import type { SealingKeys } from "../domain/payments/quote.ts";
import type { MonthArchive } from "../app/operations/archive/month-archive.ts";
import { ArchivedRows } from "./archived/archived-rows.ts";
import { AccountSearch, PostgresWalletAccounts } from "./accounts/account-search.ts";
import { openAccountQueries, type AccountQueries } from "./accounts/account-queries.ts";
import { sealingAudit } from "./operations/audit.ts";
import { PostgresFullAudit } from "./operations/full-audit.ts";
import { allSeals } from "./operations/seals.ts";
import { PostgresAuthenticator } from "./accounts/authenticator.ts";
import { PostgresDeposits } from "./deposits/deposits.ts";
import { PostgresHealth } from "./operations/health.ts";
import { KeyUses, MovedKeys } from "./accounts/key-uses.ts";
import { Leases, SessionLock, Sweeper } from "./ledger/leases.ts";
import type { ArchivedReceipt } from "./ledger/records.ts";
import { PostgresLedger } from "./ledger/ledger.ts";
import type { Log } from "../domain/core/log.ts";
import type { Metrics } from "../app/operations/metrics.ts";
import { reportPool, checkDurability, openPool } from "./database/pool.ts";
import { Notifications } from "./database/notifications.ts";
import { PostgresConfigVersions } from "./operations/config-versions.ts";
import { PostgresBalanceSteps } from "./operations/balance-steps.ts";
import { PostgresOperations } from "./operations/operations.ts";
import { openRequestLog } from "./operations/request-log.ts";
import { openWebhooks, type WebhookStores } from "./webhooks/index.ts";
import { PostgresJobRuns } from "./operations/job-runs.ts";
import { PostgresRequestTimelines } from "./operations/request-timeline.ts";
import { PostgresRestores } from "./database/primary.ts";
import { PostgresOperatorActions } from "./operations/operator-actions.ts";
import { sealLog, withOperatorLogFile } from "./operations/operator-log-file.ts";
import { PostgresSealingKeyAdmin } from "./operations/sealing-key-admin.ts";
import { UsageCounter } from "./accounts/usage-sql.ts";
import { lazyOperatorStores } from "./accounts/lazy-operator-stores.ts";
import { DatabaseAway } from "./database/away.ts";
import { Outage } from "./database/outage.ts";
import { makePartitions } from "./database/partitions.ts";
import { DatabaseClock, reportedClock } from "./database/database-clock.ts";
import { primaryOf } from "./database/server.ts";
import { PostgresRateLimiter } from "./accounts/rate-limiter.ts";
import { ReplayCache } from "./ledger/replay-cache.ts";
import { PostgresRefunds, PostgresSuspense } from "./treasury/suspense.ts";
import { PostgresRelays } from "./payments/relays.ts";
import { PostgresApprovals } from "./oauth/approvals.ts";
import { PostgresOAuthRecords } from "./oauth/oauth-records.ts";
import { PostgresSandboxRuns } from "./ledger/sandbox-runs.ts";
import { PostgresSealingKeys, type SealingKeysOptions } from "./payments/sealing-keys.ts";
import { PostgresSessions, PostgresSignInChallenges, PostgresUsedNonces } from "./accounts/sessions.ts";
import { PostgresTreasuryLedger } from "./treasury/treasury-ledger.ts";
import { PostgresUnpaidWork } from "./ledger/unpaid-work.ts";
import type { Parts } from "./database/parts.ts";

export interface PostgresOptions extends Pick<Parts, "instanceId" | "clock" | "random" | "leaseMs" | "log"> {
  /** Connection string of a database with the current schema (see migrate.ts). */
  url: string;
  /** The same database without a connection pooler, for notifications and session locks. Default url. */
  directUrl?: string | undefined;
  readUrl?: string | undefined;
  /** Maximum connections for calls and background jobs. Default 10. */
  poolSize?: number;
  /** File of {@link withOperatorLogFile} and {@link sealLog}. */
  operatorLog?: string | undefined;
  metrics?: Metrics;
  /** Default: the only deployment. */
  cell?: Cell;
  /** Where archived months are; undefined: no month is read from there. */
  archive?: MonthArchive | undefined;
  /** Called with the number of runs released because their instance died or stalled. */
  onReleased?: (runs: number) => void;
}

/** Every PostgreSQL adapter of an app port. */
export interface Postgres {
  readonly ledger: Ledger;
  readonly authenticator: Authenticator & GrantedKeys;
  readonly rateLimiter: RateLimiter;
  readonly accountQueries: AccountQueries;
  /** Collects requests for the log of their accounts. */
  readonly accountRequests: AccountRequests;
  readonly requestLog: RequestLogQueries;
  readonly accounts: Accounts;
  readonly walletAccounts: WalletAccounts;
  readonly apiKeys: ApiKeys;
  readonly keyGroups: KeyGroups;
  readonly oauthRecords: OAuthRecords;
  readonly approvals: Approvals;
  readonly keySecrets: TokenSecrets;
  readonly operatorActions: OperatorActionLog;
  readonly configVersions: ConfigVersions;
  readonly operations: OperationsQueries;
  readonly restores: Restores;
  readonly balanceSteps: BalanceSteps;
  readonly timelines: TimelineQueries;
  readonly treasuryLedger: TreasuryLedger;
  readonly deposits: Deposits & DepositAccounts;
  readonly suspense: Suspense;
  readonly refunds: Refunds;
  readonly sandboxRuns: SandboxRuns;
  readonly unpaidWork: UnpaidWorkStore;
  readonly relays: RelayClaims;
  readonly signInChallenges: SignInChallenges;
  readonly usedNonces: UsedNonces;
  readonly sessions: Sessions;
  readonly sealingKeys: SealingKeys;
  readonly signingKeys: SigningKeys;
  readonly sealingKeyAdmin: SealingKeyAdmin;
  readonly webhooks: WebhookStores;
  readonly health: Health;
  /** The database's time. */
  readonly clock: Clock;
  /** Checks the ledger invariants and seals what is clean. */
  readonly audit: Audit;
  readonly jobRuns: JobRuns;
  readonly usageCounter: UsageCounter;
  /** Makes the missing partitions of this month and the next. */
  makePartitions(): Promise<void>;
  /** Result of the last completed audit; undefined before the first. */
  readonly lastAudit: () => LastAudit | undefined;
  readonly fullAudit: FullAudit;
  /** Returns all seals of audits, by number. */
  seals(): Promise<Seal[]>;
  /** Wraps a log: database outages are reported once instead of per error. */
  withoutOutageErrors(log: Log): Log;
  /** Returns settings that risk money on a crash, with advice; empty when durable. */
  checkDurability(): Promise<string[]>;
  /** Starts background work: leases, sweeps, notifications. */
  start(): void;
  /** Stops background work; queries still work. */
  stop(): Promise<void>;
  /** Stops background work and closes all connections. */
  close(): Promise<void>;
}

export async function openPostgres(options: PostgresOptions): Promise<Postgres> {
  const { url, directUrl = url, instanceId, clock, random, leaseMs, cell = NO_CELL } = options;
  const archived = new ArchivedRows(options.archive);
  const outage = new Outage(options.log, clock);
  const log = outage.withoutConnectionErrors(options.log);
  const pool = openPool(url, { max: options.poolSize ?? 10, applicationName: `toolgate ${instanceId}` });
  const primaries = [url, directUrl].map(primaryOf);
  try {
    const databaseClock = new DatabaseClock(clock);
    const measure = reportedClock(databaseClock, options.log, options.metrics);
    await measure(pool);
    const ping = (client: ClientBase) => measure(client).then(() => outage.reached());
    const notifications = new Notifications({ url: directUrl, log, ping });
    if (options.metrics) reportPool(pool, options.metrics);
    const secrets = await openSecrets({ pool, clock, random, log, notifications });
    const [sealingKeys, keySecrets, signingKeys] = secrets;
    const account = openAccountQueries({ ...options, archived, sealingKeys, log });
    const search = new AccountSearch(pool);
    const readAccount = (accountId: string) => search.get(accountId);
    const operatorWork = lazyOperatorStores({ url, clock, random, keySecrets, readAccount, cell });
    const audited = cachedAudit(sealingAudit(url, account.standby, sealLog(options.operatorLog)), clock);
    const health = new PostgresHealth(url, databaseClock);
    const leases = new Leases({ pool, instanceId, leaseMs, log });
    const sweeper = new Sweeper({ pool, instanceId, leases, leaseMs, log, onReleased: options.onReleased });
    const sessionLock = new SessionLock({ url: directUrl, instanceId, log });
    const keyUses = new KeyUses({ pool, clock, log });
    const movedKeys = await MovedKeys.open({ pool, notifications, log });
    const away = new DatabaseAway(notifications);
    const access = { pool, clock, notifications, secrets: keySecrets, keyUses, movedKeys, cell, away };
    const authenticator = new PostgresAuthenticator(access);
    const reading = account.standby.primary;
    const requestLog = openRequestLog({ ...options, pool, reading, sealingKeys, log });
    const sandboxRuns = new PostgresSandboxRuns({ pool, notifications, log });
    const stored = [sandboxRuns, notifications, ...secrets, movedKeys, account.standby];
    const work = backgroundWork([sessionLock, leases, sweeper, keyUses, requestLog.writer, ...stored]);
    return {
      ledger: new PostgresLedger({
        pool,
        instanceId,
        leaseMs,
        leases,
        cell,
        ...(options.metrics && { metrics: options.metrics }),
        replayCache: new ReplayCache({ clock, notifications }),
        archivedReceipt: receiptsOfOldRuns(account.reading.history, clock),
      }),
      authenticator,
      ...openStores({ ...options, ...operatorWork, cell, pool, sealingKeys, keySecrets, away }),
      accountQueries: account.reading,
      ...requestLog.ports,
      accounts: { ...operatorWork.accounts, get: readAccount, list: (query) => search.list(query) },
      sandboxRuns,
      configVersions: new PostgresConfigVersions(pool, notifications, sessionLock),
      unpaidWork: new PostgresUnpaidWork({ pool, clock, notifications, log }),
      sealingKeys,
      signingKeys,
      health,
      clock: databaseClock,
      audit: audited.audit,
      lastAudit: audited.last,
      fullAudit: new PostgresFullAudit(pool, account.standby),
      seals: () => allSeals(pool),
      withoutOutageErrors: (quieted) => outage.withoutOutageErrors(quieted),
      checkDurability: () => checkDurability(pool),
      start: () => {
        for (const each of primaries) each.serve(new Date(clock.now()));
        work.start();
      },
      stop: work.stop,
      close: async () => {
        for (const each of primaries) each.serve(undefined);
        await work.stop();
        await Promise.all([pool.end(), operatorWork.close(), account.standby.close(), health.close()]);
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

function openSecrets(options: Omit<SealingKeysOptions, "table">) {
  return Promise.all([
    PostgresSealingKeys.open(options),
    PostgresSealingKeys.open({ ...options, table: "api_key_secret" }),
    PostgresSealingKeys.open({ ...options, table: "signing_key" }),
  ]);
}

/** Returns the receipt of a run that is so old that it can be archived. */
function receiptsOfOldRuns(history: History, clock: Clock): ArchivedReceipt {
  return async (accountId, runId) =>
    ArchivedRows.isOld(runId, clock) ? (await history.ofRun(accountId, runId))?.receipt : undefined;
}

interface Working {
  start(): void;
  stop(): void | Promise<void>;
}

function backgroundWork(parts: readonly Working[]): Pick<Postgres, "start" | "stop"> {
  return {
    start: () => {
      for (const part of parts) part.start();
    },
    stop: async () => void (await Promise.all(parts.map(async (part) => part.stop()))),
  };
}

type StoreOptions = Pick<PostgresOptions, "clock" | "random" | "instanceId" | "operatorLog"> & {
  readonly pool: ReturnType<typeof openPool>;
  readonly sealingKeys: SealingKeys;
  readonly keySecrets: TokenSecrets;
  readonly apiKeys: ApiKeys;
  readonly keyGroups: KeyGroups;
  readonly cell: Cell;
  readonly away: DatabaseAway;
};

/** The ports that need the pool only and no background work. */
function openStores(options: StoreOptions) {
  const { pool, clock, random, instanceId, operatorLog, cell, away, ...stores } = options;
  const operatorActions = new PostgresOperatorActions(pool, clock, random);
  return {
    ...withOperatorLogFile({ apiKeys: stores.apiKeys, operatorActions }, operatorLog),
    keyGroups: stores.keyGroups,
    keySecrets: stores.keySecrets,
    rateLimiter: new PostgresRateLimiter({ pool, clock, away }),
    operations: new PostgresOperations(pool, clock),
    restores: new PostgresRestores(pool),
    balanceSteps: new PostgresBalanceSteps(pool),
    sealingKeyAdmin: new PostgresSealingKeyAdmin(pool, random),
    timelines: new PostgresRequestTimelines(pool),
    treasuryLedger: new PostgresTreasuryLedger({ pool, instanceId }),
    deposits: new PostgresDeposits(pool, cell),
    suspense: new PostgresSuspense(pool),
    refunds: new PostgresRefunds(pool),
    relays: new PostgresRelays(pool),
    walletAccounts: new PostgresWalletAccounts({ pool, clock, random, cell: cell.number }),
    signInChallenges: new PostgresSignInChallenges(pool),
    usedNonces: new PostgresUsedNonces(pool),
    jobRuns: new PostgresJobRuns(pool, instanceId),
    usageCounter: new UsageCounter(pool),
    makePartitions: () => makePartitions(pool),
    sessions: new PostgresSessions({ pool, clock, random, cell }),
    oauthRecords: new PostgresOAuthRecords({ pool }),
    approvals: new PostgresApprovals({ pool, random }),
    webhooks: openWebhooks(options),
  };
}
