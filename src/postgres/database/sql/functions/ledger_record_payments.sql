-- A step of ledger_authorize: the payment of a granted claim points to it, so that all keys it came with
-- identify one call; and what was deposited is transferred from the treasury.
create or replace function ledger_record_payments(
  calls ledger_call[], kinds text[], payment_claims text[], deposited bytea[], credited bytea[]
)
returns void
language plpgsql
as $$
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
begin
  update payment set claim_key = claim.key
  from unnest(calls) call
  cross join lateral (
    select key, tx_signature from idempotency
    where account_id = call.account_id and key = call.claim_key offset 0
  ) claim
  where payment.tx_signature = any (credited || deposited)
    and kinds[call.n] = 'granted'
    and payment_claims[call.n] <> call.claim_key and payment.tx_signature = claim.tx_signature;

  insert into transfer (debit, credit, amount, kind, ref)
  select treasury, call.account_id, call.deposit, 'deposit', call.tx_signature
  from unnest(calls) call where call.tx_signature = any (deposited);
end
$$;

revoke execute on function ledger_record_payments from public;
