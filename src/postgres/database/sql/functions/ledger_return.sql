-- Returns what ended runs held and were not charged, to their balances and budgets. The caller has
-- locked the runs and their claims.
create or replace function ledger_return(runs uuid[])
returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  counts boolean;          -- whether budgets may count them
  item record;
  returned uuid[];
  holders uuid[];
  seqs bigint[];
  balances bigint[];
begin
  select bool_or(limits_version > 0) into counts from (
    select limits_version from account
    where id = any (array(select account_id from run where id = any (runs)))
    order by id
    for update
  ) locked;

  if counts then
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

  select array_agg(id), array_agg(account_id), array_agg(seq + place), array_agg(available + amount)
  into returned, holders, seqs, balances
  from (
    select run.id, run.account_id, account.seq, account.available, row_number() over earlier as place,
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
  update account set seq = last.seq, available = last.available
  from (
    select distinct on (id) id, seq, available
    from unnest(holders, seqs, balances) moved (id, seq, available) order by id, seq desc
  ) last
  where account.id = any (holders) and account.id = last.id;
end
$$;
