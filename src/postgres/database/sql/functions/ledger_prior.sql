-- What is known of calls before their payments are looked up on the chain (the port's findPrior). A key that
-- comes with a proof whose call was answered under another key from now on identifies that answer too, so
-- that the key alone is never charged. For a credited payment its claim is returned, so that a proof alone
-- runs under its first key. Works in the order of the claims, which it may insert: as ledger_authorize locks.
create or replace function ledger_prior(calls ledger_call[])
returns table (
  n integer, kind text, result json, receipt issued_receipt, payment_claim text, moved_to bigint,
  replayed_run uuid
)
language plpgsql rows 10 security definer
set search_path = public, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  prior record;
begin
  for prior in
    select (call).*, verdict, result, replay_run, payment_claim, frozen, moved_to
    from ledger_lookup(calls, null)
    left join lateral (
      select frozen, moved_to from account where id = (call).account_id offset 0
    ) account on true
    order by (call).account_id, (call).claim_key
  loop
    if prior.verdict = 'replay' and prior.keyed and prior.payment_claim <> prior.claim_key and not exists (
      select from idempotency
      where account_id = prior.account_id and key = prior.claim_key and state = 'done'
    ) then
      insert into idempotency as claim (account_id, key, fingerprint, state, run_id, result, expires_at)
      values (
        prior.account_id, prior.claim_key, prior.fingerprint, 'done', prior.replay_run, prior.result,
        'infinity')
      on conflict (account_id, key) do update
        set state = 'done', run_id = excluded.run_id, result = excluded.result,
          expires_at = excluded.expires_at
      where claim.state = 'retryable';
    end if;
    n := prior.n;
    kind := case
      when prior.frozen and coalesce(prior.verdict, 'credited') = 'credited' then 'frozen'
      else prior.verdict end;
    moved_to := prior.moved_to;
    result := prior.result;
    receipt := case kind when 'replay' then ledger_receipt(prior.replay_run) end;
    payment_claim := prior.payment_claim;
    replayed_run := case kind when 'replay' then prior.replay_run end;
    return next;
  end loop;
end
$$;
