-- A step of ledger_authorize: inserts the claims of new calls, locks these and the claims that their payments
-- point to, and decides again what the locks may have changed.
create or replace function ledger_claim(
  calls ledger_call[], instance uuid, proved boolean, inout kinds text[], inout results json[],
  inout replays uuid[], payment_claims text[]
)
language plpgsql as $$
#variable_conflict use_column
declare
  inserted bigint;
  item record;
begin
  insert into idempotency (account_id, key, fingerprint, state, run_id, network, reference, expires_at)
  select call.account_id, call.claim_key, call.fingerprint, 'running', call.run_id, (call.payment).network,
    (call.payment).reference,
    case when (call.payment).reference is null then now() + interval '48 hours' else 'infinity' end
  from unnest(calls) call
  where kinds[call.n] in ('new', 'credited') and call.claim_key is not null
  order by call.account_id, call.claim_key
  on conflict do nothing;
  get diagnostics inserted = row_count;

  perform from (
    select call.account_id, call.claim_key from unnest(calls) call where kinds[call.n] in ('new', 'credited')
    union
    select call.account_id, payment_claims[call.n] from unnest(calls) call
    where kinds[call.n] in ('new', 'credited')
    order by account_id, claim_key
  ) wanted
  cross join lateral (
    select from idempotency claim where claim.account_id = wanted.account_id and claim.key = wanted.claim_key
    for update of claim
  ) locked;

  -- Not needed if all claims are new and none has a payment. Sent again is a call whose claim has expired
  -- meanwhile, and one whose payment now points to another claim, or to a claim that an earlier call of this
  -- batch uses.
  for item in
    select (prior.call).*, prior.*
    from ledger_lookup(
      array(select call from unnest(calls) call where kinds[call.n] in ('new', 'credited', 'quote_paid')),
      instance) prior
    where proved or inserted < (
      select count(claim_key) from unnest(calls) call where kinds[call.n] in ('new', 'credited'))
  loop
    kinds[item.n] := case
      when coalesce(item.verdict, 'credited') = 'credited' and (
        item.payment_claim is distinct from payment_claims[item.n]
        or item.claim_key is not null and not exists (
          select from idempotency where account_id = item.account_id and key = item.claim_key)
        or item.payment_claim is not null and exists (
          select from unnest(calls) other
          where other.account_id = item.account_id and other.n < item.n
            and item.payment_claim in (other.claim_key, payment_claims[other.n]))
      ) then 'again'
      else coalesce(item.verdict, 'new') end;
    results[item.n] := item.result;
    replays[item.n] := item.replay_run;
  end loop;
end
$$;
