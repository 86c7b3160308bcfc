import type { Pool } from "pg";
import type { RevenueReport, RevenueReports } from "../../app/operations/operations-queries.ts";
import { CALLS_OF_ALL, SLOT_MS } from "./usage-sql.ts";
import { COUNTED_TO, usageEnd } from "./usage.ts";
import { entryRange, uuidAt } from "../database/entry-ids.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { inSnapshot } from "../database/pool.ts";

/** Charges in the slots from $3 to $4, and with ids from $1 to $2, by account, by model and in all. */
const REVENUE = /* sql */ `
  select * from (
    select grouping(account_id, model) as dimension, account_id, model, sum(calls)::bigint as calls,
      sum(spent)::bigint as charged, sum(costed)::bigint as costed, sum(cost)::bigint as cost,
      count(*) over (partition by grouping(account_id, model)) as groups,
      row_number() over (partition by grouping(account_id, model) order by sum(spent) desc) as place
    from (
      select account_id, model, calls, spent, costed, cost from usage_slot
      where slot >= $3 and slot < $4 and code = ''
      union all
      select account_id, model, calls, spent, costed, cost from (${CALLS_OF_ALL}) live where code = ''
    ) counted
    group by grouping sets ((account_id), (model), ())
  ) figure where place <= 100 order by place`;

/** Refunds with ids from $1 to $2, of accounts $3 and of all (null). */
const REFUNDS = /* sql */ `
  select credit as account_id, sum(amount)::bigint as amount from transfer
  where kind = 'refund' and id >= $1 and id < $2
  group by grouping sets ((credit), ()) having credit is null or credit = any ($3::uuid[])`;

interface RevenueRow {
  dimension: number;
  account_id: string | null;
  model: string | null;
  calls: bigint;
  charged: bigint;
  costed: bigint;
  cost: bigint;
  groups: bigint;
}

const [BY_ACCOUNT, BY_MODEL, ALL] = [0b01, 0b10, 0b11];

export class PostgresRevenue implements RevenueReports {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  revenue({ from: asked, to: until }: { from: Date; to: Date | undefined }): Promise<RevenueReport> {
    const from = new Date(Math.floor(asked.getTime() / SLOT_MS) * SLOT_MS);
    return inSnapshot(this.#pool, async (client) => {
      const [row] = (await client.query<{ now: Date }>("select now()")).rows;
      const to = usageEnd({ from, to: until, hourly: false }, row?.now ?? new Date());
      const wholeSlots = new Date(Math.floor(to.getTime() / SLOT_MS) * SLOT_MS);
      const [mark] = (await client.query<{ counted_to: Date | number }>(COUNTED_TO, [wholeSlots])).rows;
      const countedTo = mark?.counted_to instanceof Date ? mark.counted_to : from;
      const live = Math.max(from.getTime(), countedTo.getTime());
      const figures = await client.query<RevenueRow>(REVENUE, [
        uuidAt(live),
        uuidAt(to.getTime()),
        from,
        countedTo,
      ]);
      const of = (dimension: number) => figures.rows.filter((row) => row.dimension === dimension);
      const { low, high } = entryRange(from, to);
      const refunds = await client.query<{ account_id: string | null; amount: bigint | null }>(REFUNDS, [
        low,
        high,
        of(BY_ACCOUNT).map((row) => row.account_id),
      ]);
      const refunded = new Map(refunds.rows.map((row) => [row.account_id, row.amount ?? 0n]));
      const [total] = of(ALL);
      return {
        accounts: of(BY_ACCOUNT).map(({ account_id: id, calls, charged }) => ({
          accountId: idFromUuid("acct", id ?? ""),
          calls,
          charged,
          refunded: refunded.get(id) ?? 0n,
        })),
        models: of(BY_MODEL).map(({ model, calls, charged, costed, cost }) => ({
          model: model ?? "",
          calls,
          charged,
          costed,
          cost,
        })),
        calls: total?.calls ?? 0n,
        charged: total?.charged ?? 0n,
        refunded: refunded.get(null) ?? 0n,
        accountCount: of(BY_ACCOUNT)[0]?.groups ?? 0n,
      };
    });
  }
}
