-- Extends the leases of an instance's runs. Skips runs that are being finished, so a heartbeat never waits.
-- The status is compared as an expression, so that no plan uses an index of it.
create or replace function ledger_heartbeat(runs uuid[], instance uuid, lease interval)
returns void language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  update run set lease_until = now() + lease
  where id = any (array(
    select id from run
    where id = any (runs) and owner = instance and status || '' = 'active'
    order by id for update skip locked));
end
$$;
