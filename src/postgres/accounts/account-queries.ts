import type { Pool } from "pg";
import type { Receipts, Runs, History, PageQuery, OwnRecordQueries } from "../../app/calls/history.ts";
import type { Statements } from "../../app/accounts/statements.ts";
import type { UsageReports } from "../../app/accounts/usage.ts";
import type { RevenueReports } from "../../app/operations/operations-queries.ts";
import type { Cell } from "../../domain/core/ids.ts";
import type { SealingKeys } from "../../domain/payments/quote.ts";
import type { ArchivedRows } from "../archived/archived-rows.ts";
import { readCursor } from "../database/pages.ts";
import { PostgresHistory, PostgresReceipts } from "../ledger/history.ts";
import { Standby } from "../database/standby.ts";
import { PostgresRuns } from "../ledger/runs.ts";
import { PostgresOwnRecords } from "./own-records.ts";
import { PostgresRevenue } from "./revenue.ts";
import { PostgresStatements } from "./statement.ts";
import { PostgresUsageReports } from "./usage.ts";
import type { Parts } from "../database/parts.ts";

/** Read models for account holders, in the console and over the API. */
export interface AccountQueries {
  readonly statements: Statements;
  readonly usageReports: UsageReports;
  readonly revenueReports: RevenueReports;
  readonly history: History;
  readonly ownRecords: OwnRecordQueries;
  readonly receipts: Receipts;
  readonly runs: Runs;
}

/** Maximum connections, separate from the pool for calls: long reads must not delay calls. */
const CONNECTIONS = 5;

/** Age of what may be read from a standby, ms: far above its lag, so that nothing is missing from it. */
const SETTLED_MS = 60_000;

/** Length of the time in a UUIDv7, in hex digits of milliseconds. */
const TIME_DIGITS = 12;

interface Options extends Pick<Parts, "instanceId" | "clock" | "log"> {
  readonly url: string;
  readonly readUrl?: string | undefined;
  readonly sealingKeys: SealingKeys;
  readonly archived: ArchivedRows;
  readonly cell?: Cell | undefined;
}

/** Opens the read models on their own pools. They connect on first use. */
export function openAccountQueries(options: Options) {
  const { url, readUrl, instanceId, clock, log } = options;
  const applicationName = `toolgate reads ${instanceId}`;
  const standby = new Standby({ url, readUrl, max: CONNECTIONS, applicationName, log });
  const stores = new Map<Pool, ReturnType<typeof storesOn>>();
  const on = (pool: Pool) => {
    const opened = stores.get(pool) ?? storesOn(pool, options, standby.primary);
    stores.set(pool, opened);
    return opened;
  };
  /** Whether what came before a timestamp is complete on a standby. */
  const settled = (ms: number) => ms < clock.now() - SETTLED_MS;
  const before = (timestamp: Date | undefined) =>
    timestamp !== undefined && settled(timestamp.getTime()) ? standby.pool : standby.primary;
  const page = (list: "receipts" | "runs", { cursor }: PageQuery<unknown>) =>
    cursor !== undefined && settled(Number.parseInt(readCursor(list, cursor).slice(0, TIME_DIGITS), 16))
      ? standby.pool
      : standby.primary;
  const { statements, receipts, runs, history, ownRecords } = on(standby.primary);
  const reading: AccountQueries = {
    statements: {
      balance: (accountId) => statements.balance(accountId),
      setLowBalance: (accountId, amount) => statements.setLowBalance(accountId, amount),
      entries: (query) => statements.entries(query),
      export: (accountId, span) => on(before(span.to)).statements.export(accountId, span),
    },
    usageReports: { usage: (query) => on(standby.pool).usageReports.usage(query) },
    revenueReports: { revenue: (period) => on(standby.pool).revenueReports.revenue(period) },
    history,
    ownRecords,
    receipts: {
      list: (query) => on(page("receipts", query)).receipts.list(query),
      find: (accountId, receiptId) => receipts.find(accountId, receiptId),
    },
    runs: {
      list: (query) => on(page("runs", query)).runs.list(query),
      find: (accountId, runId) => runs.find(accountId, runId),
    },
  };
  return { reading, standby };
}

function storesOn(pool: Pool, { sealingKeys, archived, cell }: Options, primary = pool): AccountQueries {
  const receipts = new PostgresReceipts(pool, archived, cell);
  const runs = new PostgresRuns(pool, archived, cell);
  return {
    statements: new PostgresStatements(pool, sealingKeys, archived),
    usageReports: new PostgresUsageReports(pool, primary),
    revenueReports: new PostgresRevenue(pool),
    history: new PostgresHistory({ pool, archived, receipts, runs }),
    ownRecords: new PostgresOwnRecords(pool, archived),
    receipts,
    runs,
  };
}
