-- Requests that an active execution end, and notifies the instance that runs it. False if it is not active.
create or replace function sandbox_cancel(run uuid)
returns boolean language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off as $$
begin
  update sandbox_run set cancel_requested_at = coalesce(cancel_requested_at, now())
  where run_id = run and ended_at is null
    and exists (select from run where id = sandbox_run.run_id and status = 'active');
  if not found then
    return false;
  end if;
  perform pg_notify('toolgate_sandbox', encode(uuid_send(run), 'hex'));
  return true;
end
$$;
