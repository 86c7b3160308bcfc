-- Returns what ended runs held and were not charged, to their balances and daily budgets. The caller has
-- locked the runs and their claims.
create or replace function ledger_return(runs uuid[])
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  accounts constant uuid[] = array(select account_id from run where id = any (runs));
  item record;
begin
  perform from account where id = any (accounts) order by id for update;

  -- To the day on which the run started.
  for item in
    select run.budget_id, (run.started_at at time zone 'utc')::date as day,
      sum(run.price - coalesce(charged.debited, 0)) as amount
    from (select * from run where id = any (runs) and budget_id is not null offset 0) run
    left join lateral (select debited from receipt where run_id = run.id offset 0) charged on true
    group by 1, 2 order by 1, 2
  loop
    update key_budget budget set spent = budget.spent - item.amount
    where budget.budget_id = item.budget_id and budget.day = item.day;
  end loop;

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

revoke execute on function ledger_return from public;
