-- Releases runs whose lease has expired, at most "most", and returns how many. An owner that still holds its
-- session lock (session-lock.ts) is stalled, not dead: it keeps its runs until their lease is over for
-- "stall" as well. "kept" are the runs that the sweeping instance works on. Skips rows that another sweep or
-- a late capture has locked.
create or replace function ledger_sweep(
  most integer, sweeper uuid DEFAULT NULL::uuid, kept uuid[] DEFAULT '{}'::uuid[],
  stall interval DEFAULT '00:01:00'::interval
)
returns bigint language plpgsql security definer set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  owners uuid[] = array(select distinct owner from run where status = 'active' and lease_until < now());
  connected uuid[];
  expired uuid[];
begin
  if owners = '{}' then
    return 0;
  end if;
  connected := array(
    select owner from unnest(owners) owner where hashtextextended(owner::text, 0) in (
      select (classid::bigint << 32) | objid::bigint from pg_locks
      where locktype = 'advisory' and objsubid = 1 and granted));
  expired := array(
    select id from run
    where status = 'active' and lease_until < now() and case
      when owner = sweeper then id <> all (kept)
      when owner = any (connected) then lease_until < now() - stall
      else true end
    order by lease_until limit most for update skip locked
  );
  if expired = '{}' then
    return 0;
  end if;
  update run set status = 'failed', owner = null, ended_at = now(), error_code = 'UNAVAILABLE',
    error_message = 'the instance that ran this call died or stalled; nothing was charged'
  where id = any (expired);
  perform ledger_lock_claims(expired);
  perform ledger_release(expired);
  return cardinality(expired);
end
$$;
