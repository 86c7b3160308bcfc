-- Locks the claims of runs, which are locked already: in the order of the claims' keys and along their index,
-- whatever the statistics say.
create or replace function ledger_lock_claims(runs uuid[])
returns void language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  perform from (
    select ended.account_id, ended.claim_key
    from (
      select account_id, claim_key from run where id = any (runs) and claim_key is not null offset 0
    ) ended
    order by ended.account_id, ended.claim_key
  ) mine
  cross join lateral (
    select from idempotency claim where claim.account_id = mine.account_id and claim.key = mine.claim_key
    for update
  ) locked;
end
$$;
