-- Deletes executions after 48 hours, at most "most".
create or replace function sandbox_forget(most integer)
returns bigint language plpgsql security definer set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  deleted bigint;
begin
  delete from sandbox_run where run_id in (
    select old.run_id from sandbox_run old
    join run ledger on ledger.id = old.run_id and ledger.status <> 'active'
    where old.created_at < now() - interval '48 hours'
    order by old.created_at limit most for update of old skip locked);
  get diagnostics deleted = row_count;
  return deleted;
end
$$;
