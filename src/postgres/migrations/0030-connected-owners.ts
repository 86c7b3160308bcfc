import { Migration } from "@mikro-orm/migrations";

/**
 * Releases runs whose lease has expired. An owner that still holds its session lock (../session-lock.ts) is stalled, not dead: its runs
 * are left to it until their lease has been over for `stall` as well. `kept` are the runs that the sweeping instance works on itself.
 * Rows that another sweep or a late finish has locked are skipped.
 */
const LEDGER_SWEEP = /* sql */ `
  create function ledger_sweep(
    most integer, sweeper uuid default null, kept uuid[] default '{}', stall interval default '1 minute'
  ) returns bigint
  language plpgsql security definer
  set search_path = public, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan as $$
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
    with due as (
      select id from run
      where status = 'active' and lease_until < now() and case
        when owner = sweeper then id <> all (kept)
        when owner = any (connected) then lease_until < now() - stall
        else true end
      order by lease_until limit most for update skip locked
    ), changed as (
      update run set status = 'failed', owner = null, ended_at = now(), error_code = 'UNAVAILABLE',
        error_message = 'the instance that ran this call died or stalled; nothing was charged'
      from due where run.id = due.id
      returning run.id
    )
    select array_agg(id) into expired from changed;
    if expired is null then
      return 0;
    end if;
    perform ledger_lock_claims(expired);
    perform ledger_release(expired);
    return cardinality(expired);
  end $$`;

/** Whoever could run the function that was dropped can run the new one: instances of the version before go on sweeping. */
const SAME_RIGHTS = /* sql */ `
  do $migration$
  declare
    allowed constant oid[] = array(
      select grantee from pg_proc, aclexplode(proacl) where oid = 'ledger_sweep(integer)'::regprocedure and grantee <> proowner);
    role text;
  begin
    drop function ledger_sweep(integer);
    execute $sweep$ ${LEDGER_SWEEP} $sweep$;
    revoke execute on function ledger_sweep from public;
    foreach role in array array(select grantee::regrole::text from unnest(allowed) grantee where grantee <> 0) loop
      execute format('grant execute on function ledger_sweep to %s', role);
    end loop;
  end $migration$`;

/** Runs of an instance that stalls for a while are left to it. */
export class ConnectedOwners extends Migration {
  override name = "0030-connected-owners";

  override up(): void {
    this.addSql(SAME_RIGHTS);
  }
}
