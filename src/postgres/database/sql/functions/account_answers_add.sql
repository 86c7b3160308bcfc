-- Stores answers of another cell (account_answers_page) for the account that arrives with "contents": a call
-- that is repeated after the move is not charged again.
create or replace function account_answers_add(contents json, answers json)
returns void language plpgsql security definer set search_path = public, pg_temp as $$
#variable_conflict use_variable
declare
  arriving constant account := json_populate_record(null::account, contents -> 'account');
  holder constant uuid := coalesce(
    (select a.id from account a where a.wallet = arriving.wallet), arriving.id);
begin
  insert into idempotency as known (account_id, key, fingerprint, state, run_id, result, expires_at)
  select holder, claim.key, claim.fingerprint, claim.state, claim.run_id, claim.result, claim.expires_at
  from json_array_elements(answers) given,
    json_populate_record(null::idempotency, given -> 'claim') claim
  on conflict (account_id, key) do update
    set fingerprint = excluded.fingerprint, state = excluded.state, run_id = excluded.run_id,
      result = excluded.result, expires_at = excluded.expires_at
  where known.state = 'retryable' or known.expires_at <= now();
  insert into moved_run (run_id, receipt)
  select distinct on (claim.run_id) claim.run_id,
    case when given ->> 'receipt' is not null then given -> 'receipt' end
  from json_array_elements(answers) given,
    json_populate_record(null::idempotency, given -> 'claim') claim
  where not exists (select from run where run.id = claim.run_id)
  on conflict do nothing;
end
$$;
