-- Releases the holds of ended runs to their balances and daily budgets, and makes their claims retryable. The
-- caller has locked the runs and their claims.
create or replace function ledger_release(runs uuid[])
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
  item record;
begin
  for item in
    select run.account_id, run.claim_key, run.id from run
    where run.id = any (runs) and run.claim_key is not null
  loop
    update idempotency claim set state = 'retryable'
    where claim.account_id = item.account_id and claim.key = item.claim_key
      and claim.run_id = item.id and claim.state = 'running';
  end loop;

  perform from account
  where id = any (array(select hold.account_id from hold where hold.run_id = any (runs)))
  order by id
  for update;

  -- To the day on which the run started.
  if exists (select from run where id = any (runs) and budget_id is not null) then
    for item in
      select run.budget_id, (run.started_at at time zone 'utc')::date as day, sum(hold.amount) as amount
      from run join hold on hold.run_id = run.id and hold.state = 'open'
      where run.id = any (runs) and hold.run_id = any (runs) and run.budget_id is not null
      group by 1, 2 order by 1, 2
    loop
      update key_budget budget set spent = budget.spent - item.amount
      where budget.budget_id = item.budget_id and budget.day = item.day;
    end loop;
  end if;

  with released as (
    update hold set state = 'released' where run_id = any (runs) and state = 'open'
    returning account_id, amount
  ), total as (
    select account_id, sum(amount) as amount from released group by account_id
  )
  update account set available = available + total.amount from total
  where account.id = any (array(select hold.account_id from hold where hold.run_id = any (runs)))
    and account.id = total.account_id;
end
$$;

revoke execute on function ledger_release from public;
