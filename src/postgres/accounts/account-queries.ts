import type { Receipts, Runs, History } from "../../app/calls/history.ts";
import type { Statements } from "../../app/accounts/statements.ts";
import type { UsageReports } from "../../app/accounts/usage.ts";
import type { SealingKeys } from "../../domain/payments/quote.ts";
import { PostgresHistory } from "../ledger/history.ts";
import { openPool } from "../database/pool.ts";
import { PostgresReceipts } from "../ledger/receipts.ts";
import { PostgresRuns } from "../ledger/runs.ts";
import { PostgresStatements } from "./statement.ts";
import { PostgresUsageReports } from "./usage.ts";

/** Read models for account holders in the console. */
export interface AccountQueries {
  readonly statements: Statements;
  readonly usageReports: UsageReports;
  readonly history: History;
  /** The public lists, on this pool. */
  readonly receipts: Receipts;
  readonly runs: Runs;
}

/** Maximum connections, separate from the pool for calls: long reads must not delay calls. */
const CONNECTIONS = 5;

/** Opens the read models on their own pool. It connects on first use. */
export function openAccountQueries(options: { url: string; instanceId: string; sealingKeys: SealingKeys }): {
  reading: AccountQueries;
  close(): Promise<void>;
} {
  const { url, instanceId, sealingKeys } = options;
  const pool = openPool(url, { max: CONNECTIONS, applicationName: `toolgate console ${instanceId}` });
  const [receipts, runs] = [new PostgresReceipts(pool), new PostgresRuns(pool)];
  return {
    reading: {
      statements: new PostgresStatements(pool, sealingKeys),
      usageReports: new PostgresUsageReports(pool),
      history: new PostgresHistory({ pool, receipts, runs }),
      receipts,
      runs,
    },
    close: () => pool.end(),
  };
}
