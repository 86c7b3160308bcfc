import type { PoolClient } from "pg";

/**
 * Transfers are dated at transaction start and numbered at write, so order can differ for the length of a
 * transaction. A transfer older than this has all its predecessors.
 */
export const SETTLED_AFTER = "interval '1 minute'";

/**
 * Tolerated difference between instance clocks (identifiers) and the database clock (timestamps), ms. It only
 * narrows a search; the database time decides.
 */
const CLOCK_SLACK_MS = 3_600_000;

/** Sorts after every transfer. */
export const AFTER_ALL_TRANSFERS = 2n ** 63n - 1n;

/**
 * For each timestamp of $1 the first transfer around it, by bisection: transfers are nearly in time order, so
 * no index by time is needed.
 */
const FIRST_TRANSFERS = /* sql */ `
  with recursive search (n, moment, low, high) as (
    select n, moment, 0::bigint, coalesce((select max(id) from transfer), 0) + 1
    from unnest($1::timestamptz[]) with ordinality wanted (moment, n)
    union all
    select n, moment,
           case when probe.created_at < moment then probe.id + 1 else low end,
           case when probe.created_at < moment then high else (low + high) / 2 end
    from search, lateral (select id, created_at from transfer where id >= (low + high) / 2 order by id
      limit 1) probe
    where low < high
  )
  select n::integer, max(low) as id from search group by n order by n`;

/** A range of transfer numbers that contains all transfers of a time span, and a few others. */
export interface TransferRange {
  /** Inclusive. */
  low: bigint;
  /** Exclusive. */
  high: bigint;
}

/** Returns where to search the transfers of a span; the query still filters by time. */
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

/** UUIDv7 range (hex) of all identifiers created in a span, with the clock tolerance. */
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
