import type { Pool, PoolClient } from "pg";
import type { Usage, UsageQuery, UsageReport, UsageReports } from "../../app/accounts/usage.ts";
import { invalidField } from "../../domain/core/errors.ts";
import { errorCodeOf } from "../ledger/error-codes.ts";
import { entryRange, uuidRange } from "../database/entry-ids.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { inSnapshot } from "../database/snapshot.ts";
import type { ArchivedTable } from "../../app/operations/archive/archived-tables.ts";
import { accountMonths, type AccountMonth } from "../archived/account-months.ts";
import { ArchivedRows } from "../archived/archived-rows.ts";
import { queryBeside } from "../archived/beside-tables.ts";
import { AccountQueue } from "./account-queue.ts";

/** The grouping of a row: bucket, tool, key, error code, or the total. */
const SETS = "grouping sets ((bucket), (tool), (key_id, key_name), (error_code), ())";
const SET = "grouping(bucket, tool, key_id, error_code)";

/**
 * Charges of account $1 from $2 to $3, by $4 (hour or day), for tool $5 and key $6, among receipts $7 to $8.
 * Calls from before keys were recorded have no key.
 */
export const CHARGES = /* sql */ `
  select ${SET} as dimension, bucket, tool, key_id, key_name, error_code, count(*) as calls,
    coalesce(sum(amount), 0)::bigint as spent
  from (
    select date_trunc($4, receipt.created_at, 'UTC') as bucket, receipt.tool, run.key_id,
      api_key.name as key_name, null::text as error_code, receipt.debited as amount
    from receipt
    left join run on run.id = receipt.run_id
    left join api_key on api_key.id = run.key_id
    where receipt.account_id = $1 and receipt.id >= $7 and receipt.id < $8
      and receipt.created_at >= $2 and receipt.created_at < $3
      and ($5::text is null or receipt.tool = $5) and ($6::uuid is null or run.key_id = $6)
  ) charge
  group by ${SETS}`;

/** Like {@link CHARGES}, for failed and cancelled runs by start time, among identifiers from $7 to $8. */
const FAILURES = /* sql */ `
  select ${SET} as dimension, bucket, tool, key_id, key_name, error_code, count(*) as calls,
    0::bigint as spent
  from (
    select date_trunc($4, run.created_at, 'UTC') as bucket, run.tool, run.key_id, api_key.name as key_name,
      run.error_code
    from run left join api_key on api_key.id = run.key_id
    where run.account_id = $1 and run.status in ('failed', 'cancelled') and run.id >= $7 and run.id <= $8
      and run.created_at >= $2 and run.created_at < $3
      and ($5::text is null or run.tool = $5) and ($6::uuid is null or run.key_id = $6)
  ) failure
  group by ${SETS}`;

interface FigureRow {
  /** One bit per column that the row is not grouped by. */
  dimension: number;
  bucket: Date | null;
  tool: string | null;
  key_id: string | null;
  key_name: string | null;
  error_code: string | null;
  calls: bigint;
  spent: bigint;
}

const [BY_BUCKET, BY_TOOL, BY_KEY, BY_CODE, ALL] = [0b0111, 0b1011, 0b1101, 0b1110, 0b1111];

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];

/** Usage reports on PostgreSQL: charges from receipts, failures from runs, on one snapshot. */
export class PostgresUsageReports implements UsageReports {
  readonly #pool: Pool;
  readonly #archived: ArchivedRows;
  readonly #queue = new AccountQueue();

  constructor(pool: Pool, archived = new ArchivedRows(undefined)) {
    this.#pool = pool;
    this.#archived = archived;
  }

  usage(query: UsageQuery): Promise<UsageReport> {
    return this.#queue.run(query.accountId, () => this.#usage(query));
  }

  async #usage(query: UsageQuery): Promise<UsageReport> {
    return inSnapshot(this.#pool, async (client) => {
      const [row] = (await client.query<{ now: Date }>("select now()")).rows;
      const span = spanOf(query, row?.now ?? new Date());
      const { low, high } = entryRange(span.from, span.to);
      const runs = uuidRange(span.from, span.to);
      const charges = await figures(client, "usage-charges", CHARGES, valuesOf(query, span, [low, high]));
      const failures = await figures(
        client,
        "usage-failures",
        FAILURES,
        valuesOf(query, span, [runs.low, runs.high]),
      );
      const months = await accountMonths(client, uuidFromId("acct", query.accountId));
      const archived = (table: ArchivedTable, text: string, from: string, to: string) =>
        this.#archivedFigures(client, query, { months, table, text, span, from, to });
      charges.push(...(await archived("receipt", CHARGES, low, high)));
      failures.push(...(await archived("run", FAILURES, runs.low, runs.high)));
      return reportOf(charges, failures, span);
    });
  }

  /** Figures of each batch of archived rows: those with the same grouping are added up like all others. */
  async #archivedFigures(
    client: PoolClient,
    query: UsageQuery,
    part: {
      months: readonly AccountMonth[];
      table: ArchivedTable;
      text: string;
      span: BucketSpan;
      from: string;
      to: string;
    },
  ): Promise<FigureRow[]> {
    const { months, table, text, span, from, to } = part;
    const values = valuesOf(query, span, [from, to]);
    const account = uuidFromId("acct", query.accountId);
    const figures: FigureRow[] = [];
    for await (const loaded of this.#archived.all(account, months, { table, from, to }))
      figures.push(...(await queryBeside<FigureRow>(client, { text, values }, loaded, { only: true })));
    return figures;
  }
}

/** A time span and its bucket length. UTC days always have 24 hours. */
interface BucketSpan {
  from: Date;
  to: Date;
  stepMs: number;
}

/** @throws ToolgateError INVALID_REQUEST for an empty or too long span */
function spanOf({ from, to: asked, hourly }: UsageQuery, now: Date): BucketSpan {
  const to = asked ?? now;
  const stepMs = hourly ? HOUR_MS : DAY_MS;
  const days = hourly ? 7 : 366;
  if (to.getTime() <= from.getTime()) {
    throw asked
      ? invalidField("to", "must be after from")
      : invalidField("from", "must be in the past, or send to");
  }
  if (to.getTime() - from.getTime() > days * DAY_MS) {
    const most = hourly ? "7 days by hours" : "366 days";
    throw invalidField(asked ? "to" : "from", `at most ${most} at once; ask for less`);
  }
  return { from: new Date(from.getTime() - (((from.getTime() % stepMs) + stepMs) % stepMs)), to, stepMs };
}

function valuesOf(
  { accountId, hourly, tool, keyId }: UsageQuery,
  span: BucketSpan,
  ids: unknown[],
): unknown[] {
  const key = keyId === undefined ? undefined : uuidFromId("key", keyId);
  return [uuidFromId("acct", accountId), span.from, span.to, hourly ? "hour" : "day", tool, key, ...ids];
}

async function figures(
  client: PoolClient,
  name: string,
  text: string,
  values: unknown[],
): Promise<FigureRow[]> {
  return (await client.query<FigureRow>({ name, text, values })).rows;
}

function reportOf(
  charges: readonly FigureRow[],
  failures: readonly FigureRow[],
  span: BucketSpan,
): UsageReport {
  const grouped = <Key>(dimension: number, keyOf: (row: FigureRow) => Key) => {
    const found = new Map<Key, { row: FigureRow; usage: Usage }>();
    const entryOf = (row: FigureRow) => {
      const key = keyOf(row);
      const entry = found.get(key) ?? { row, usage: { charged: 0n, spent: 0n, failed: 0n } };
      found.set(key, entry);
      return entry.usage;
    };
    for (const row of charges.filter((row) => row.dimension === dimension)) {
      const usage = entryOf(row);
      usage.charged += row.calls;
      usage.spent += row.spent;
    }
    for (const row of failures.filter((row) => row.dimension === dimension)) entryOf(row).failed += row.calls;
    return found;
  };
  const inTime = grouped(BY_BUCKET, ({ bucket }) => bucket?.getTime());
  const buckets: UsageReport["buckets"] = [];
  for (let start = span.from.getTime(); start < span.to.getTime(); start += span.stepMs) {
    buckets.push({
      start: new Date(start),
      usage: inTime.get(start)?.usage ?? { charged: 0n, spent: 0n, failed: 0n },
    });
  }
  return {
    buckets,
    tools: [...grouped(BY_TOOL, ({ tool }) => tool)]
      .map(([tool, { usage }]) => ({ tool: tool ?? "", usage }))
      .sort(mostSpentFirst),
    keys: [...grouped(BY_KEY, ({ key_id }) => key_id)]
      .map(([id, { row, usage }]) => ({
        keyId: id === null ? undefined : idFromUuid("key", id),
        name: row.key_name ?? "",
        usage,
      }))
      .sort(mostSpentFirst),
    failures: failuresOf(failures),
    total: grouped(ALL, () => undefined).get(undefined)?.usage ?? { charged: 0n, spent: 0n, failed: 0n },
  };
}

function failuresOf(rows: readonly FigureRow[]): UsageReport["failures"] {
  const byCode = new Map<ReturnType<typeof errorCodeOf>, bigint>();
  for (const { dimension, error_code, calls } of rows) {
    if (dimension !== BY_CODE) continue;
    const code = errorCodeOf(error_code ?? "");
    byCode.set(code, (byCode.get(code) ?? 0n) + calls);
  }
  return [...byCode].map(([code, calls]) => ({ code, calls })).sort((a, b) => order(b.calls, a.calls));
}

function mostSpentFirst(a: { usage: Usage }, b: { usage: Usage }): number {
  return (
    order(b.usage.spent, a.usage.spent) ||
    order(b.usage.charged + b.usage.failed, a.usage.charged + a.usage.failed)
  );
}

function order(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
