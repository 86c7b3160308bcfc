-- What is known of a call before its payment is looked up on the chain (the port's findPrior). A key that
-- comes with a proof whose call was answered under another key from now on identifies that answer too, so
-- that the key alone is never charged. For a credited payment its claim is returned, so that a proof alone
-- runs under its first key.
create or replace function ledger_prior(query json)
returns table (n integer, kind text, result json, receipt issued_receipt, payment_claim text)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  call constant ledger_call := json_populate_record(null::ledger_call, query);
  prior record;
begin
  select * into prior from ledger_lookup(array[call], null);
  if prior.verdict = 'replay' and call.keyed and prior.payment_claim <> call.claim_key and not exists (
    select from idempotency where account_id = call.account_id and key = call.claim_key and state = 'done'
  ) then
    insert into idempotency as claim (account_id, key, fingerprint, state, run_id, result, expires_at)
    values (
      call.account_id, call.claim_key, call.fingerprint, 'done', prior.replay_run, prior.result, 'infinity')
    on conflict (account_id, key) do update
      set state = 'done', run_id = excluded.run_id, result = excluded.result, expires_at = excluded.expires_at
    where claim.state = 'retryable';
  end if;
  return query
    select 1, prior.verdict, prior.result,
      case prior.verdict when 'replay' then ledger_receipt(prior.replay_run) end, prior.payment_claim;
end
$$;

revoke execute on function ledger_prior from public;
