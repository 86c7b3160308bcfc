-- Of an account, the first run whose stored answer may still change: the first that is active, or one that
-- starts now by a clock that is late, or whose start is not committed.
create or replace function account_first_open_run(account uuid)
returns uuid language sql stable security definer set search_path = public, pg_temp as $$
select least(partition_bound(now() - interval '15 minutes'), (
  select run.id from run where run.account_id = $1 and run.status = 'active' order by run.id limit 1))
$$;
