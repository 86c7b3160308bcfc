-- Records how an execution ended, and returns it. A cancel request that came first wins.
create or replace function sandbox_end(run uuid, outcome text)
returns text
language plpgsql security definer
set search_path = public, pg_temp
set enable_seqscan = off
as $$
begin
  update sandbox_run
  set status = case when cancel_requested_at is null then outcome else 'cancelled' end, ended_at = now()
  where run_id = run and ended_at is null;
  return (select status from sandbox_run where run_id = run);
end
$$;

revoke execute on function sandbox_end from public;
