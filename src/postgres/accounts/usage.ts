import type { Pool, PoolClient } from "pg";
import type {
  Usage,
  UsageDimension,
  UsageReport,
  UsageSeries,
  UsageQuery,
  UsageReports,
} from "../../app/accounts/usage.ts";
import { latencyOf } from "../../domain/calls/latency.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { errorCodeOf } from "../ledger/records.ts";
import { invalidField } from "../../domain/core/errors.ts";
import { isInvalidParameter } from "../database/database-errors.ts";
import { uuidAt } from "../database/entry-ids.ts";
import { inSnapshot } from "../database/pool.ts";
import { queryWithRetry } from "../database/retry.ts";
import { NO_KEY, CALLS_OF_ACCOUNT, LATENCY_SUMS, SLOT_MS } from "./usage-sql.ts";
import { AccountQueue } from "./account-queue.ts";

/** Result row of {@link USAGE}. */
interface FigureRow {
  /** One bit per column that the row is not grouped by. */
  dimension: number;
  bucket: Date | null;
  tool: string | null;
  key_id: string | null;
  model: string | null;
  code: string | null;
  series: string | null;
  charged: bigint;
  spent: bigint;
  failed: bigint;
  /** By class; numbers as text. */
  latency: string[];
}

interface KeyRow {
  id: string;
  name: string;
}

const BY_BUCKET = 0b011111;
const BY_TOOL = 0b101111;
const BY_KEY = 0b110111;
const BY_MODEL = 0b111011;
const BY_CODE = 0b111101;
const ALL = 0b111111;
const BY_SERIES = 0b011110;

interface Shape {
  readonly starts: readonly Date[];
  readonly names: readonly KeyRow[];
  readonly by: UsageDimension | undefined;
}

function reportOf(rows: readonly FigureRow[], { starts, names, by }: Shape): UsageReport {
  const of = (dimension: number) => rows.filter((row) => row.dimension === dimension);
  const buckets = new Map(of(BY_BUCKET).map((row) => [row.bucket?.getTime(), row]));
  const keyNames = new Map(names.map(({ id, name }) => [id, name]));
  return {
    buckets: starts.map((start) => {
      const row = buckets.get(start.getTime());
      return { start, usage: usageOf(row), latency: row && latencyOf(row.latency.map(BigInt)) };
    }),
    series: by ? seriesOf(of(BY_SERIES), starts, by) : [],
    tools: of(BY_TOOL)
      .map((row) => ({ tool: row.tool ?? "", usage: usageOf(row) }))
      .sort(mostSpentFirst),
    keys: of(BY_KEY)
      .map((row) => ({
        keyId: keyIdOf(row.key_id),
        name: keyNames.get(row.key_id ?? "") ?? "",
        usage: usageOf(row),
      }))
      .sort(mostSpentFirst),
    models: of(BY_MODEL)
      .map((row) => ({ model: row.model ?? "", usage: usageOf(row) }))
      .sort(mostSpentFirst),
    failures: failuresOf(of(BY_CODE)),
    total: usageOf(of(ALL)[0]),
  };
}

function seriesOf(rows: readonly FigureRow[], starts: readonly Date[], by: UsageDimension): UsageSeries[] {
  const places = new Map(starts.map((start, place) => [start.getTime(), place]));
  const found = new Map<string | null, Usage[]>();
  for (const row of rows) {
    const usage = found.get(row.series) ?? starts.map(() => usageOf(undefined));
    found.set(row.series, usage);
    const place = places.get(row.bucket?.getTime() ?? Number.NaN);
    if (place !== undefined) usage[place] = usageOf(row);
  }
  const series = [...found].map(([value, usage]) => ({
    value: valueOf(value, by),
    usage,
    sum: sumOf(usage),
  }));
  return series
    .sort(
      (a, b) =>
        Number(a.value === undefined) - Number(b.value === undefined) ||
        mostSpentFirst({ usage: a.sum }, { usage: b.sum }),
    )
    .map(({ value, usage }) => ({ value, usage }));
}

function valueOf(series: string | null, by: UsageDimension): string | undefined {
  if (series === null) return undefined;
  if (by === "key") return keyIdOf(series) ?? "";
  return by === "outcome" && series !== "" ? errorCodeOf(series) : series;
}

function keyIdOf(uuid: string | null): string | undefined {
  return uuid === null || uuid === NO_KEY ? undefined : idFromUuid("key", uuid);
}

function usageOf(row: FigureRow | undefined): Usage {
  return { charged: row?.charged ?? 0n, spent: row?.spent ?? 0n, failed: row?.failed ?? 0n };
}

function sumOf(usage: readonly Usage[]): Usage {
  return usage.reduce((sum, { charged, spent, failed }) => ({
    charged: sum.charged + charged,
    spent: sum.spent + spent,
    failed: sum.failed + failed,
  }));
}

function failuresOf(rows: readonly FigureRow[]): UsageReport["failures"] {
  const byCode = new Map<ReturnType<typeof errorCodeOf>, bigint>();
  for (const { code, failed } of rows) {
    if (failed === 0n) continue;
    const known = errorCodeOf(code ?? "");
    byCode.set(known, (byCode.get(known) ?? 0n) + failed);
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

/**
 * Calls of account $1, by $6 (hour or day) of zone $7, for tool $8, key $9 and model $10, stacked by $11: the
 * slots from $4 to $5, what is not counted yet, with ids from $2 to $3, and the refusals $12. The eight
 * series with the highest spending have a name, the others none.
 */
export const USAGE = /* sql */ `
  with figure as materialized (
    select date_trunc($6, slot, $7) as bucket, tool, key_id, model, code, sum(calls) as calls,
      sum(spent) as spent, array[${LATENCY_SUMS}] as latency,
      case $11 when 'tool' then tool when 'key' then key_id::text when 'model' then model
        when 'outcome' then code end as value
    from (
      select slot, tool, key_id, model, code, calls, spent, latency from usage_slot
      where account_id = $1 and slot >= $4 and slot < $5
      union all
      select slot, tool, key_id, model, code, calls, spent, latency from (${CALLS_OF_ACCOUNT}) live
      union all
      select slot, tool, key_id, '', code, calls, 0, null
      from jsonb_to_recordset($12)
        as refusal (slot timestamptz, tool text, key_id uuid, code text, calls bigint)
    ) counted
    where ($8::text is null or tool = $8) and ($9::uuid is null or key_id = $9)
      and ($10::text is null or model = $10)
    group by 1, 2, 3, 4, 5
  ), named as (
    select value from figure group by value order by sum(spent) desc, sum(calls) desc, value limit 8
  )
  select grouping(bucket, tool, key_id, model, code, series) as dimension, bucket, tool, key_id, model, code,
    series, coalesce(sum(calls) filter (where failed = 0), 0)::bigint as charged,
    coalesce(sum(spent), 0)::bigint as spent, coalesce(sum(failed), 0)::bigint as failed,
    array[${LATENCY_SUMS}] as latency
  from (
    select figure.*, case when code = '' then 0 else calls end as failed,
      case when value in (select value from named) then value end as series
    from figure
  ) figure
  group by grouping sets ((bucket), (tool), (key_id), (model), (code), (), (bucket, series))`;

/** Calls of account $1 from $2 to $3 that were refused before a run: those that the request log still has. */
const REFUSALS = /* sql */ `
  select date_bin('15 minutes', received_at, '2000-01-01 00:00:00+00') as slot, tool,
    coalesce(key_id, '${NO_KEY}'::uuid) as key_id, code, sum(1 + repeats)::text as calls
  from request_log
  where account_id = $1 and received_at >= $2 and received_at < $3 and expires_at > now()
    and run_id is null and tool is not null and code is not null and status <> 402
  group by 1, 2, 3, 4`;

/** The end of what is counted, at most $1. */
export const COUNTED_TO = "select least(counted_to, $1::timestamptz) as counted_to from usage_mark";

/** Start of each hour of zone $3 from $1 to $2. */
const HOURS = /* sql */ `
  select at from generate_series(date_trunc('hour', $1::timestamptz, $3), $2::timestamptz, '1 hour') at
  where at < $2 order by at`;

/** As {@link HOURS}, of days. */
const DAYS = /* sql */ `
  select at from (
    select local at time zone $3 as at from generate_series(
      date_trunc('day', $1::timestamptz at time zone $3), $2::timestamptz at time zone $3, '1 day') local
  ) day
  where at < $2 order by at`;

const KEY_NAMES = "select id, name from api_key where id = any ($1::uuid[])";

const DAY_MS = 86_400_000;

export class PostgresUsageReports implements UsageReports {
  readonly #pool: Pool;
  readonly #primary: Pool;
  readonly #queue = new AccountQueue();

  /** @param primary a standby has no request log */
  constructor(pool: Pool, primary = pool) {
    this.#pool = pool;
    this.#primary = primary;
  }

  usage(query: UsageQuery): Promise<UsageReport> {
    return this.#queue.run(query.accountId, () => this.#usage(query));
  }

  async #usage(query: UsageQuery): Promise<UsageReport> {
    const refusals = await queryWithRetry(this.#primary, {
      text: REFUSALS,
      values: [uuidFromId("acct", query.accountId), query.from, query.to ?? "infinity"],
    });
    return inSnapshot(this.#pool, async (client) => {
      // The current millisecond belongs to it.
      const [row] = (await client.query<{ now: Date }>("select now() + interval '1 ms' as now")).rows;
      const to = usageEnd(query, row?.now ?? new Date());
      const starts = await startsOf(client, query, to);
      const rows = await figures(client, query, { from: starts[0] ?? query.from, to, refusals });
      const keys = [...new Set(rows.flatMap(({ key_id: key }) => key ?? []))];
      const names = await client.query<KeyRow>(KEY_NAMES, [keys]);
      return reportOf(rows, { starts, names: names.rows, by: query.by });
    });
  }
}

/** Returns the end of a period. @throws ToolgateError INVALID_REQUEST for an empty or too long one */
export function usageEnd(
  { from, to: asked, hourly }: Pick<UsageQuery, "from" | "to" | "hourly">,
  now: Date,
): Date {
  const to = asked ?? now;
  if (to.getTime() <= from.getTime())
    throw asked
      ? invalidField("to", "must be after from")
      : invalidField("from", "must be in the past, or send to");
  if (to.getTime() - from.getTime() > (hourly ? 7 : 366) * DAY_MS) {
    const most = hourly ? "7 days by hours" : "366 days";
    throw invalidField(asked ? "to" : "from", `at most ${most} at once; ask for less`);
  }
  return to;
}

/** @throws ToolgateError INVALID_REQUEST for an unknown time zone */
async function startsOf(client: PoolClient, query: UsageQuery, to: Date): Promise<Date[]> {
  const { hourly, from, timeZone = "UTC" } = query;
  try {
    const { rows } = await client.query<{ at: Date }>({
      name: hourly ? "usage-hours" : "usage-days",
      text: hourly ? HOURS : DAYS,
      values: [from, to, timeZone],
    });
    return rows.map(({ at }) => at);
  } catch (error) {
    if (!isInvalidParameter(error)) throw error;
    throw invalidField("time_zone", "must be a name of the IANA time zone database, such as Europe/Berlin");
  }
}

async function figures(
  client: PoolClient,
  { accountId, hourly, timeZone = "UTC", tool, keyId, model, by }: UsageQuery,
  { from, to, refusals }: { from: Date; to: Date; refusals: readonly object[] },
): Promise<FigureRow[]> {
  const wholeSlots = new Date(Math.floor(to.getTime() / SLOT_MS) * SLOT_MS);
  const [mark] = (await client.query<{ counted_to: Date | number }>(COUNTED_TO, [wholeSlots])).rows;
  const countedTo = mark?.counted_to instanceof Date ? mark.counted_to : from;
  const live = Math.max(from.getTime(), countedTo.getTime());
  const { rows } = await client.query<FigureRow>({
    name: "usage",
    text: USAGE,
    values: [
      uuidFromId("acct", accountId),
      uuidAt(live),
      uuidAt(to.getTime()),
      from,
      countedTo,
      hourly ? "hour" : "day",
      timeZone,
      tool,
      keyId === undefined ? undefined : uuidFromId("key", keyId),
      model,
      by satisfies UsageDimension | undefined,
      JSON.stringify(refusals),
    ],
  });
  return rows;
}
