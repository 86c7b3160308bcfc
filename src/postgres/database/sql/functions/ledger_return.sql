-- Returns what ended runs held and were not charged, to their balances and budgets. The caller has
-- locked the runs and their claims.
create or replace function ledger_return(runs uuid[])
returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  accounts constant uuid[] = array(select account_id from run where id = any (runs));
  item record;
begin
  perform from account where id = any (accounts) order by id for update;

  if exists (select from account where id = any (accounts) and limits_version > 0) then
    for item in
      select run.key_id, run.group_id, (run.started_at at time zone 'utc')::date as day,
        sum(run.price - coalesce(charged.debited, 0)) as amount
      from (select * from run where id = any (runs) and paid_by || '' = 'balance' offset 0) run
      left join lateral (select debited from receipt where run_id = run.id offset 0) charged on true
      group by 1, 2, 3 order by 1, 2, 3
    loop
      perform budget_return(item.key_id, item.group_id, item.day, item.amount::bigint);
    end loop;
  end if;

  update account set available = available + rest.amount
  from (
    select run.account_id, sum(run.price - coalesce(charged.debited, 0)) as amount
    from (select * from run where id = any (runs) offset 0) run
    left join lateral (select debited from receipt where run_id = run.id offset 0) charged on true
    group by run.account_id
  ) rest
  where account.id = any (accounts) and account.id = rest.account_id and rest.amount > 0;
end
$$;
