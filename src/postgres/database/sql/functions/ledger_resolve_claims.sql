-- A step of ledger_authorize: granted calls take over retryable claims. Claims of other calls are deleted, or
-- kept for a retry if this transaction has credited their payment. A claim that a payment points to never
-- expires.
create or replace function ledger_resolve_claims(calls ledger_call[], kinds text[], payments payment_key[])
returns void language plpgsql as $$
declare
  item record;
begin
  for item in
    select call.* from unnest(calls) call
    cross join lateral (
      select state from idempotency where account_id = call.account_id and key = call.claim_key offset 0
    ) claim
    where kinds[call.n] = 'granted' and claim.state = 'retryable'
  loop
    update idempotency claim
    set state = 'running', run_id = item.run_id,
      network = coalesce((item.payment).network, claim.network),
      reference = coalesce((item.payment).reference, claim.reference),
      expires_at = case
        when (item.payment).reference is null then greatest(claim.expires_at, now() + interval '48 hours')
        else 'infinity' end
    where claim.account_id = item.account_id and claim.key = item.claim_key;
  end loop;

  for item in
    select call.* from unnest(calls) call
    where kinds[call.n] not in ('granted', 'started') and call.claim_key is not null
  loop
    if kinds[item.n] = 'insufficient' and item.payment = any (payments) then
      update idempotency claim
      set state = 'retryable', network = (item.payment).network, reference = (item.payment).reference,
        expires_at = 'infinity'
      where claim.account_id = item.account_id and claim.key = item.claim_key;
    end if;
    delete from idempotency claim
    where claim.account_id = item.account_id and claim.key = item.claim_key
      and claim.run_id = item.run_id and claim.state = 'running';
  end loop;
end
$$;
