import type { Pool } from "pg";
import type { Month } from "../../domain/core/month.ts";
import { longQuery } from "./session.ts";
import { partitionOf } from "./month-tables.ts";

/** One obstacle a row, with the number of what is in the way; $1 and $2 bound the ids of the month's runs. */
const obstaclesSql = (run: string, receipt: string) => /* sql */ `
  select count(*) as count, 'runs have not ended: a running gateway releases those of a dead one' as why
  from ${run} where status = 'active'
  union all
  select count(*), 'rows lie in the default partition: start a gateway of this version, or run migrate'
  from (select from run_default where id >= $1 and id < $2
    union all select from receipt_default where run_id >= $1 and run_id < $2) stray
  union all
  select count(*), 'answers are stored for idempotency keys that are valid until ' || max(expires_at)
  from idempotency where expires_at >= now() and expires_at < 'infinity' and run_id >= $1 and run_id < $2
  union all
  select count(*), 'executions of code can still be asked for; a running gateway deletes them'
  from sandbox_run where run_id >= $1 and run_id < $2
  union all
  select count(*), 'payments of the month are not final on their network'
  from payment where not finalized and not reversed and exists (
    select from ${receipt} receipt
    where receipt.network = payment.network and receipt.reference = payment.reference)
  union all
  select count(*), 'receipts or runs are not sealed: run toolgate audit, which has to find no violation'
  from (
    select from ${receipt} receipt
    where id >= coalesce((select audit_bound(max(up_to)) from audit_seal),
      '00000000-0000-0000-0000-000000000000')
    union all
    select from (select first_run from audit_seal order by number desc limit 1) last
    where first_run < $2
  ) unsealed
  union all
  select count(*), 'month''s usage is not counted to its end: a running gateway counts it within minutes'
  from usage_mark
  where case when counted_to = '-infinity' then true else partition_bound(counted_to) < $2 end`;

/** Why a month has to stay in the tables. */
export async function obstaclesOf(
  pool: Pool,
  month: Month,
  [low, high]: readonly [string, string],
): Promise<string[]> {
  const { rows } = await longQuery<{ count: bigint; why: string }>(
    pool,
    obstaclesSql(partitionOf("run", month), partitionOf("receipt", month)),
    [low, high],
  );
  return rows.filter(({ count }) => count > 0n).map(({ count, why }) => `${count} ${why}`);
}
