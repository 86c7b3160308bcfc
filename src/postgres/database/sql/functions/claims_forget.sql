-- Deletes expired claims, oldest first, along their index and then by row location: no statistics turn that
-- into a scan of the table. Starts where the batch before ended ("since"), because deleted entries stay in
-- the index until a vacuum, and an open snapshot (an audit, a backup) can delay that. Skips locked rows.
create or replace function claims_forget(since timestamptz, most integer)
returns table (forgotten bigint, up_to timestamptz)
language sql rows 1 security definer
set search_path = public, pg_temp as $$
with gone as (
  delete from idempotency where ctid = any (array(
    select ctid from idempotency
    where expires_at >= since and expires_at < now() and expires_at < 'infinity' and state <> 'running'
    order by expires_at limit most for update skip locked))
  returning expires_at, run_id
), forgotten_runs as (
  delete from moved_run where run_id = any (array(select run_id from gone))
)
select count(*), max(gone.expires_at) from gone
$$;
