-- Returns what ended runs held and were not charged, to their balances and budgets. The caller has
-- locked the runs and their claims.
create or replace function ledger_return(runs uuid[])
returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  accounts constant uuid[] = array(select account_id from run where id = any (runs));
  item record;
  returned uuid[];
  seqs bigint[];
  balances bigint[];
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

  select array_agg(id), array_agg(seq + place), array_agg(available + amount)
  into returned, seqs, balances
  from (
    select run.id, account.seq, account.available, row_number() over earlier as place,
      sum(run.price - coalesce(charged.debited, 0)) over earlier as amount
    from (select * from run where id = any (runs) offset 0) run
    cross join lateral (select seq, available from account where id = run.account_id offset 0) account
    left join lateral (select debited from receipt where run_id = run.id offset 0) charged on true
    where run.price > coalesce(charged.debited, 0)
    window earlier as (partition by run.account_id order by run.id)
  ) rest;
  update run set return_seq = seqs[array_position(returned, id)],
    return_balance = balances[array_position(returned, id)]
  where id = any (returned);
  -- Of an account, the last return has its balance.
  update account set seq = last.return_seq, available = last.return_balance
  from (
    select distinct on (account_id) account_id, return_seq, return_balance
    from (select account_id, return_seq, return_balance from run where id = any (returned) offset 0) run
    order by account_id, return_seq desc
  ) last
  where account.id = any (accounts) and account.id = last.account_id;
end
$$;
