import type { PoolClient } from "pg";

/**
 * Transfers are dated by when their transaction began, and numbered when it wrote them: in order, but for as long as a transaction may
 * take, which is far less than this. What is older than this has all its predecessors.
 */
export const SETTLED_AFTER = "interval '1 minute'";

/**
 * How far the clock of an instance, of which identifiers are made, may be from the database's, by which everything is dated, ms. Only what
 * is read is narrowed with it; what is told is always picked by the database's time.
 */
const CLOCK_SLACK_MS = 3_600_000;

/** After all transfers. */
export const AFTER_ALL_TRANSFERS = 2n ** 63n - 1n;

/**
 * For each moment of $1 the number of the first transfer of about then: a bisection of all transfers, as they are in the order of time,
 * and no index by time is needed.
 */
const FIRST_TRANSFERS = /* sql */ `
  with recursive search (n, moment, low, high) as (
    select n, moment, 0::bigint, coalesce((select max(id) from transfer), 0) + 1
    from unnest($1::timestamptz[]) with ordinality wanted (moment, n)
    union all
    select n, moment,
           case when probe.created_at < moment then probe.id + 1 else low end,
           case when probe.created_at < moment then high else (low + high) / 2 end
    from search, lateral (select id, created_at from transfer where id >= (low + high) / 2 order by id limit 1) probe
    where low < high
  )
  select n::integer, max(low) as id from search group by n order by n`;

/** Numbers of transfers between which all of a span of time lie, and some others. */
export interface TransferRange {
  /** The first. */
  low: bigint;
  /** The first after them. */
  high: bigint;
}

/** Where to look for the transfers of a span; they still have to be picked by their time. */
export async function transferRange(
  client: PoolClient,
  from: Date | undefined,
  to: Date | undefined,
): Promise<TransferRange> {
  const moments = [from && new Date(from.getTime() - 60_000), to && new Date(to.getTime() + 60_000)];
  const { rows } = await client.query<{ id: bigint }>({
    name: "transfer-range",
    text: FIRST_TRANSFERS,
    values: [moments.filter((moment) => moment !== undefined)],
  });
  const found = rows.map(({ id }) => id);
  return { low: (from && found.shift()) ?? 0n, high: (to && found.shift()) ?? AFTER_ALL_TRANSFERS };
}

/** The identifiers (UUIDv7, hex) between which all that was made in a span lies, and some others. */
export function uuidRange(from: Date | undefined, to: Date | undefined): { low: string; high: string } {
  return {
    low: from ? uuidAt(from.getTime() - CLOCK_SLACK_MS) : "0".repeat(32),
    high: to ? uuidAt(to.getTime() + CLOCK_SLACK_MS) : "f".repeat(32),
  };
}

function uuidAt(ms: number): string {
  return Math.min(Math.max(ms, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, "0")
    .padEnd(32, "0");
}
