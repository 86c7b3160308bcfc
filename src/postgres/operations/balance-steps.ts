import type { Pool } from "pg";
import type { BalanceSteps, BalanceStep } from "../../app/operations/operator-actions.ts";
import { longQuery } from "../database/pool.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import { onSnapshot } from "./audit-snapshot.ts";

/**
 * Each change of each balance, and whether it is wrong: it does not follow from "number", the one before.
 * Before the times "until" and "audited", changes may be missing: they are archived or were not read.
 */
export const BALANCE_STEPS = /* sql */ `
  select step.account_id, step.seq - step.moves::integer as number, act.number is null and case
      when step.seq - coalesce(step.seq_before, 0) <> step.moves::integer
        then coalesce(step.last_before, '-infinity') >= greatest(archived.until, audited.since)
      else coalesce(step.balance <> step.balance_before + step.change, false) end as wrong
  from (
    select *, lag(seq) over changes as seq_before, lag(balance) over changes as balance_before,
      max(at) over (changes rows between unbounded preceding and 1 preceding) as last_before
    from (
      select account_id, seq, balance, -price as change, started_at as at, true as moves
      from run where seq is not null
      union all
      select run.account_id, return_seq, return_balance, price - coalesce(debited, 0), ended_at, true
      from run left join receipt on receipt.run_id = run.id where return_seq is not null
      union all
      select account.id, transfer.seq, balance, case account.id when credit then amount else -amount end,
        transfer.created_at, true
      from transfer
      join account on account.id = case when debit > '${SYSTEM_ACCOUNTS.clearing}' then debit else credit end
      where transfer.seq is not null
      union all
      select id, seq, available, 0, now(), false from account where seq > 0
    ) change
    window changes as (partition by account_id order by seq, moves desc)
  ) step
  cross join audited
  left join (
    -- A call may start at the end of a month and end in the next.
    select account_id, max(month) + interval '1 month 1 day' as until from archive_use
    group by account_id
  ) archived on archived.account_id = step.account_id
  left join (
    select distinct target, once as number from operator_action where action = 'balance.explain'
  ) act on act.target = 'acct_' || encode(uuid_send(step.account_id), 'hex') 
    and act.number = (step.seq - step.moves::integer)::text`;

const UNEXPLAINED = /* sql */ `
  with audited as (select '-infinity'::timestamptz as since)
  select distinct account_id, number from (${BALANCE_STEPS}) step
  where wrong and ($1::uuid is null or account_id = $1)
  order by account_id, number limit 1000`;

/** The explanation itself is the operator's action. */
export class PostgresBalanceSteps implements BalanceSteps {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async unexplained(accountId: string | undefined): Promise<BalanceStep[]> {
    const values = [accountId === undefined ? null : uuidFromId("acct", accountId)];
    const { rows } = await onSnapshot(this.#pool, undefined, (client) =>
      longQuery<{ account_id: string; number: bigint }>(client, UNEXPLAINED, values),
    );
    return rows.map(({ account_id: id, number }) => ({
      accountId: idFromUuid("acct", id),
      number: String(number),
    }));
  }

  async explain(): Promise<void> {}
}
