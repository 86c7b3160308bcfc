import type { Pool, PoolClient } from "pg";
import type { UsageDimension, UsageQuery, UsageReport, UsageReports } from "../../app/accounts/usage.ts";
import { invalidField } from "../../domain/core/errors.ts";
import { isInvalidParameter } from "../database/database-errors.ts";
import { uuidAt } from "../database/entry-ids.ts";
import { uuidFromId } from "../database/row-mapping.ts";
import { inSnapshot } from "../database/snapshot.ts";
import { AccountQueue } from "./account-queue.ts";
import { reportOf, type FigureRow, type KeyRow } from "./usage-report.ts";
import { CALLS_OF_ACCOUNT, LATENCY_SUMS, SLOT_MS } from "./usage-sql.ts";

/**
 * Calls of account $1, by $6 (hour or day) of zone $7, for tool $8, key $9 and model $10, stacked by $11: the
 * slots from $4 to $5, and what is not counted yet, with ids from $2 to $3. The eight series with the highest
 * spending have a name, the others none.
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

/** Usage reports on PostgreSQL, from one snapshot. */
export class PostgresUsageReports implements UsageReports {
  readonly #pool: Pool;
  readonly #queue = new AccountQueue();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  usage(query: UsageQuery): Promise<UsageReport> {
    return this.#queue.run(query.accountId, () => this.#usage(query));
  }

  async #usage(query: UsageQuery): Promise<UsageReport> {
    return inSnapshot(this.#pool, async (client) => {
      // The current millisecond belongs to it.
      const [row] = (await client.query<{ now: Date }>("select now() + interval '1 ms' as now")).rows;
      const to = usageEnd(query, row?.now ?? new Date());
      const starts = await startsOf(client, query, to);
      const rows = await figures(client, query, { from: starts[0] ?? query.from, to });
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
  { from, to }: { from: Date; to: Date },
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
    ],
  });
  return rows;
}
