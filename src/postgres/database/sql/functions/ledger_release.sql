-- Releases the holds of ended runs, and makes their claims retryable. The caller has locked the runs and
-- their claims.
create or replace function ledger_release(runs uuid[])
returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  item record;
begin
  for item in
    select run.account_id, run.claim_key, run.id from run
    where run.id = any (runs) and run.claim_key is not null
  loop
    update idempotency claim set state = 'retryable'
    where claim.account_id = item.account_id and claim.key = item.claim_key
      and claim.run_id = item.id and claim.state = 'running';
  end loop;
  perform ledger_return(runs);
end
$$;
