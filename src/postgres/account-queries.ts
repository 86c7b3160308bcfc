import type { Receipts, Runs } from "../app/ports.ts";
import type { History, Statements, UsageReports } from "../app/statement-ports.ts";
import type { SealingKeys } from "../domain/quote.ts";
import { PostgresHistory } from "./history.ts";
import { openPool } from "./pool.ts";
import { PostgresReceipts } from "./receipts.ts";
import { PostgresRuns } from "./runs.ts";
import { PostgresStatements } from "./statement.ts";
import { PostgresUsageReports } from "./usage.ts";

/** What an account's owner reads in the console. */
export interface AccountQueries {
  readonly statements: Statements;
  readonly usageReports: UsageReports;
  readonly history: History;
  /** The same as the public lists. */
  readonly receipts: Receipts;
  readonly runs: Runs;
}

/** Connections at most. Calls have none of them: to read much must not hold them up. */
const CONNECTIONS = 5;

/** Opens what an account's owner reads, on connections of its own that are made when they are needed. */
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
