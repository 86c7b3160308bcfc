-- A step of ledger_authorize: the payment of a granted claim points to it, so that all keys it came with
-- identify one call; and what was deposited is transferred from the treasury.
create or replace function ledger_record_payments(
  calls ledger_call[], kinds text[], payment_claims text[], deposited payment_key[], credited payment_key[],
  balances bigint[], seqs bigint[]
)
returns void language plpgsql as $$
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
begin
  with pointed as (
    select claim.key, known.place
    from unnest(calls) call
    cross join lateral (
      select key, network, reference from idempotency
      where account_id = call.account_id and key = call.claim_key offset 0
    ) claim
    cross join lateral (
      select ctid as place from payment
      where network = claim.network and reference = claim.reference offset 0
    ) known
    where row(claim.network, claim.reference)::payment_key = any (credited || deposited)
      and kinds[call.n] = 'granted'
      and payment_claims[call.n] <> call.claim_key
  )
  update payment set claim_key = pointed.key from pointed where payment.ctid = pointed.place;

  -- Before the hold of its call.
  insert into transfer (debit, credit, amount, kind, ref, seq, balance)
  select treasury, call.account_id, call.deposit, 'deposit',
    payment_ref((call.payment).network, (call.payment).reference), seqs[call.n] - (held > 0)::integer,
    balances[call.n] + held
  from unnest(calls) call
  cross join lateral (values (case kinds[call.n] when 'granted' then call.price else 0 end)) hold (held)
  where call.payment = any (deposited);

  -- What pays its call at once is the call's affair.
  perform event_deposit(call.account_id, (call.payment).network, (call.payment).reference)
  from unnest(calls) call where call.payment = any (deposited) and kinds[call.n] <> 'granted';
end
$$;
