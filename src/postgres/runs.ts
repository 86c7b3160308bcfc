import type { Pool, QueryConfig } from "pg";
import type { Page, PageQuery, Runs } from "../app/ports.ts";
import { ERRORS, type ErrorCode } from "../domain/errors.ts";
import { uuidOf } from "../domain/ids.ts";
import type { Run, RunStatus } from "../domain/run.ts";
import { cursorAfter, readCursor } from "./cursor.ts";
import { patientQuery } from "./retry.ts";
import { idFrom, uuidFrom } from "./rows.ts";

interface RunRow {
  id: string;
  tool: string;
  status: RunStatus;
  step_id: string | null;
  price: bigint;
  receipt_id: string | null;
  error_code: string | null;
  error_message: string | null;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
}

const SELECT = `
  select run.id, run.tool, run.status, run.step_id, run.price, receipt.id as receipt_id,
         run.error_code, run.error_message, run.created_at, run.started_at, run.ended_at
  from run left join receipt on receipt.run_id = run.id`;

/** What picks the runs of a status, written out, so that a statement's plan can tell the rare ones from the many. */
const PICKS: Record<RunStatus, string> = {
  active: "and run.status = 'active'",
  completed: "and run.status = 'completed'",
  failed: "and run.status = 'failed'",
  cancelled: "and run.status = 'cancelled'",
};

/** The statement for one page: of account $1, before the run $2, at most $3. */
export function runsPage(status: RunStatus | undefined): string {
  const picked = status === undefined ? "" : PICKS[status];
  return `${SELECT} where run.account_id = $1 and run.id < $2 ${picked} order by run.id desc limit $3`;
}

/** Reads runs, newest first: identifiers are UUIDv7, so their order is the order in time. */
export class PostgresRuns implements Runs {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list(query: PageQuery<RunStatus>): Promise<Page<Run>> {
    const after = readCursor("runs", query.cursor);
    const rows = await this.#read({
      name: `runs-list-${query.status ?? "all"}`,
      text: runsPage(query.status),
      values: [uuidFrom("acct", query.accountId), after, query.limit + 1],
    });
    const shown = rows.slice(0, query.limit);
    const last = shown.at(-1);
    return {
      items: shown.map(runOf),
      nextCursor: rows.length > query.limit && last ? cursorAfter("runs", last.id) : undefined,
    };
  }

  async find(accountId: string, runId: string): Promise<Run | undefined> {
    const uuid = uuidOf("run", runId);
    if (uuid === undefined) return undefined;
    const rows = await this.#read({
      name: "runs-find",
      text: `${SELECT} where run.id = $1 and run.account_id = $2`,
      values: [uuid, uuidFrom("acct", accountId)],
    });
    return rows[0] && runOf(rows[0]);
  }

  #read(query: QueryConfig): Promise<RunRow[]> {
    return patientQuery(this.#pool, query);
  }
}

function runOf(row: RunRow): Run {
  return {
    runId: idFrom("run", row.id),
    tool: row.tool,
    status: row.status,
    stepId: row.step_id ?? undefined,
    spent: row.status === "completed" ? row.price : 0n,
    receiptId: row.receipt_id === null ? undefined : idFrom("rcpt", row.receipt_id),
    error: row.error_code === null ? undefined : { code: errorCode(row.error_code), message: row.error_message ?? "" },
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}

/** A code that was retired since is told as INTERNAL. */
function errorCode(text: string): ErrorCode {
  return isErrorCode(text) ? text : "INTERNAL";
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text);
}
