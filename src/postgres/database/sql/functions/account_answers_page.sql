-- Stored answers of an account that a repeated call may ask for, of runs from "first_run", in the order of
-- their keys after "since", at most "most": those that expire, and of payments those of the last 48 hours.
create or replace function account_answers_page(account uuid, first_run uuid, since text, most integer)
returns table (key text, answer json)
language sql stable security definer
set search_path = public, pg_temp as $$
select claim.key, json_build_object(
  'claim', json_build_object(
    'key', claim.key, 'fingerprint', claim.fingerprint, 'state', claim.state, 'run_id', claim.run_id,
    'result', claim.result, 'expires_at', least(claim.expires_at, now() + interval '48 hours')),
  'receipt', to_json(ledger_receipt(claim.run_id)))
from idempotency claim
where claim.account_id = $1 and claim.key > since and claim.run_id >= first_run and claim.state <> 'running'
  and claim.expires_at > now()
  and (claim.expires_at < 'infinity' or claim.run_id >= audit_bound(now() - interval '48 hours'))
order by claim.key limit most
$$;
