-- Returns "created"; "named": an active execution has this name; or "busy": the "running" executions reach
-- the limit. Calls of one account wait for each other, so that each counts all before it. Idempotent by run.
create or replace function sandbox_create(
  run uuid, account uuid, key uuid, called text, most integer
)
returns table (kind text, running bigint)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  active bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended('sandbox ' || account, 0));
  if exists (select from sandbox_run where run_id = run) then
    return query select 'created', 0::bigint;
    return;
  end if;
  if exists (
    select from sandbox_run named join run ledger on ledger.id = named.run_id and ledger.status = 'active'
    where named.account_id = account and named.name = called and named.ended_at is null
  ) then
    return query select 'named', 0::bigint;
    return;
  end if;
  select count(*) into active
  from sandbox_run open join run ledger on ledger.id = open.run_id and ledger.status = 'active'
  where open.account_id = account and open.ended_at is null;
  if active >= most then
    return query select 'busy', active;
    return;
  end if;
  -- Not now(), which is when this started to wait: the newest of a name is the one that was admitted last.
  insert into sandbox_run (run_id, account_id, key_id, name, created_at)
  values (run, account, key, called, clock_timestamp());
  return query select 'created', active + 1;
end
$$;
