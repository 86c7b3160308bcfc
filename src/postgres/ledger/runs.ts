import type { Pool } from "pg";
import type { JsonObject } from "../../domain/core/json.ts";
import type { Runs } from "../../app/calls/history.ts";
import type { Cell } from "../../domain/core/ids.ts";
import type { Run, RunStatus } from "../../domain/calls/receipt.ts";
import type { ArchivedRows } from "../archived/archived-rows.ts";
import { firstRows, OUTCOME, PAGE_ACCOUNT, PAGE_BEFORE, SCAN_LIMIT } from "../database/pages.ts";
import { errorCodeOf } from "./records.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { RecordList } from "./record-list.ts";

interface RunRow {
  id: string;
  tool: string;
  status: RunStatus;
  step_id: string | null;
  price: bigint;
  receipt_id: string | null;
  debited: bigint | null;
  error_code: string | null;
  error_message: string | null;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  /** Of one chat, not in lists. */
  result?: JsonObject | null;
}

const COLUMNS = `run.id, run.tool, run.status, run.step_id, run.price, receipt.id as receipt_id,
  receipt.debited, run.error_code, run.error_message, run.created_at, run.started_at, run.ended_at`;

const FROM = "from run left join receipt on receipt.run_id = run.id";

const SELECT = `select ${COLUMNS} ${FROM}`;

/**
 * Run $1 of account $2, with the result of a chat: only that names its model, and no list needs it. SQL could
 * not read a result with the character U+0000.
 */
const FIND = `
  select ${COLUMNS}, claim.result
  ${FROM}
  left join idempotency claim on run.tool = 'inference_chat' and claim.account_id = run.account_id
    and claim.key = run.claim_key and claim.run_id = run.id and claim.state = 'done'
  where run.id = $1 and run.account_id = $2`;

/** Statuses with an index: most runs are completed, so these are found among all of the account. */
type IndexedStatus = Exclude<RunStatus, "completed">;

/** SQL literals, so that each status has its own statement and plan. */
const STATUS: Record<IndexedStatus, string> = {
  active: "'active'",
  failed: "'failed'",
  cancelled: "'cancelled'",
};

/**
 * Conditions for paging along an index (see pages.ts): before run $2; among identifiers from $8 to $9; order.
 */
interface Along {
  readonly before: string;
  readonly among: string;
  readonly newest: string;
}

const ALL: Along = {
  before: `(run.account_id, run.id) < (${PAGE_ACCOUNT}, $2) and run.account_id >= ${PAGE_ACCOUNT}`,
  among:
    `(run.account_id, run.id) <= (${PAGE_ACCOUNT}, least($2::uuid, $9::uuid)) ` +
    `and (run.account_id, run.id) >= (${PAGE_ACCOUNT}, $8) and run.id < ${PAGE_BEFORE} ` +
    `and run.account_id >= ${PAGE_ACCOUNT}`,
  newest: "run.account_id desc, run.id desc",
};

function along(status: IndexedStatus | undefined): Along {
  if (status === undefined) return ALL;
  const its = `run.status = ${STATUS[status]}`;
  return {
    before: `${its} and ${ALL.before}`,
    among: `${its} and ${ALL.among}`,
    newest: ALL.newest,
  };
}

const LAST_LOOKED_AT = SCAN_LIMIT - 1;

/** A page of account $1, before run $2, at most $3. */
export function runsPage(status: IndexedStatus | undefined): string {
  const { before, newest } = along(status);
  return firstRows(`${SELECT} where ${before} order by ${newest}`);
}

/**
 * A filtered page of account $1: before run $2, at most $3, tool $4, key $5, created from $6 to $7, with
 * identifiers from $8 to $9, outcome $10, model $11. Scans at most {@link SCAN_LIMIT} rows; the first row
 * says where it stopped.
 */
export function filteredRunsPage(status: RunStatus | undefined): string {
  const { among, newest } = along(status === "completed" ? undefined : status);
  const its = status === "completed" ? "and status = 'completed'" : "";
  return /* sql */ `
    with looked_at as materialized (
      select run.id, run.tool, run.key_id, run.created_at, run.status, run.outcome from run
      where ${among}
      order by ${newest} limit ${SCAN_LIMIT}
    ), found as materialized (
      select id from looked_at run
      where ($4::text is null or tool = $4) and ($5::uuid is null or key_id = $5) and created_at >= $6
        and created_at < $7
        and ($10::text is null or ${OUTCOME} = $10) ${its}
        and ($11::text is null
          or exists (select from run_model where run_id = run.id and model = $11))
      order by id desc limit $3
    )
    select looked.stopped_at, run.*
    from (
      select (select id from looked_at order by id desc limit 1 offset ${LAST_LOOKED_AT}) as stopped_at
    ) looked left join (${SELECT} where run.id in (select id from found)) run on true
    order by run.id desc nulls last`;
}

/** Lists runs, also those that are archived. */
export class PostgresRuns extends RecordList<RunRow, RunStatus, Run> implements Runs {
  constructor(pool: Pool, archived?: ArchivedRows, cell?: Cell) {
    const page = (status?: RunStatus) => (status === "completed" ? undefined : runsPage(status));
    const statements = { find: FIND, page, scan: filteredRunsPage };
    super({ list: "runs", table: "run", prefix: "run", ...statements, itemOf: runOf }, pool, archived, cell);
  }
}

function runOf(row: RunRow): Run {
  return {
    runId: idFromUuid("run", row.id),
    tool: row.tool,
    status: row.status,
    stepId: row.step_id ?? undefined,
    quoted: row.price,
    spent: row.debited ?? 0n,
    receiptId: row.receipt_id === null ? undefined : idFromUuid("rcpt", row.receipt_id),
    error:
      row.error_code === null
        ? undefined
        : { code: errorCodeOf(row.error_code), message: row.error_message ?? "" },
    model: typeof row.result?.["model"] === "string" ? row.result["model"] : undefined,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}
