-- Records how an execution ended, and returns it. An earlier cancel request wins. The run keeps its status
-- for the lists, because executions are deleted after 48 hours.
create or replace function sandbox_end(run uuid, outcome text)
returns text language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
declare
  ended text;
begin
  update sandbox_run
  set status = case when cancel_requested_at is null then outcome else 'cancelled' end, ended_at = now()
  where run_id = run and ended_at is null
  returning status into ended;
  if ended <> 'succeeded' then
    update run as ledger set outcome = ended where ledger.id = sandbox_end.run;
  end if;
  return (select status from sandbox_run where run_id = run);
end
$$;
