-- A step of ledger_authorize: inserts new payments, and locks those that were credited before, so that none
-- is reversed while it buys a call. Returns the payments that this transaction credits ("deposited"), those
-- credited before ("credited"), and those of them that had bought nothing and now buy their call ("adopted").
create or replace function ledger_credit_payments(
  calls ledger_call[], inout kinds text[], payment_claims text[],
  out deposited payment_key[], out credited payment_key[], out adopted payment_key[]
)
language plpgsql as $$
#variable_conflict use_column
declare
  item record;
begin
  with inserted as (
    insert into payment (
      network, reference, account_id, quote_id, amount, settled, fingerprint, claim_key, payer, slot,
      block_time, finalized, paid_by)
    select (call.payment).network, (call.payment).reference, call.account_id, call.quote_id, call.deposit,
      kinds[call.n] = 'new',
      case kinds[call.n] when 'new' then call.fingerprint end,
      case kinds[call.n] when 'new' then call.claim_key end,
      call.payer, call.slot, call.block_time, call.finalized, call.paid_by
    from unnest(calls) call
    where kinds[call.n] in ('new', 'quote_paid') and call.deposit is not null
    order by call.payment
    on conflict do nothing
    returning network, reference
  )
  select coalesce(array_agg(row(network, reference)::payment_key), '{}') into deposited from inserted;

  adopted := '{}';
  credited := array(
    select call.payment from unnest(calls) call
    where kinds[call.n] = 'credited'
      or (kinds[call.n] = 'new' and call.deposit is not null and call.payment <> all (deposited))
    union
    select row(claim.network, claim.reference)::payment_key from unnest(calls) call
    cross join lateral (
      select network, reference from idempotency
      where account_id = call.account_id and key = call.claim_key and reference is not null offset 0
    ) claim
    where kinds[call.n] = 'new' and payment_claims[call.n] <> call.claim_key);
  if credited <> '{}' then
    perform from (select paid.network, paid.reference from unnest(credited) paid order by paid) known
    cross join lateral (
      select from payment where network = known.network and reference = known.reference for update
    ) locked;
    begin
      with adoptable as (
        select call.fingerprint, call.claim_key, known.place
        from unnest(calls) call
        cross join lateral (
          select ctid as place from payment
          where network = (call.payment).network and reference = (call.payment).reference
            and account_id = call.account_id and quote_id = call.quote_id
            and not settled and not reversed offset 0
        ) known
        where call.payment = any (credited) and call.payment <> all (deposited) and kinds[call.n] = 'new'
      ), adoption as (
        update payment set settled = true, fingerprint = adoptable.fingerprint,
          claim_key = adoptable.claim_key
        from adoptable where payment.ctid = adoptable.place
        returning payment.network, payment.reference
      )
      select coalesce(array_agg(row(network, reference)::payment_key), '{}') into adopted from adoption;
    exception when unique_violation then
      -- Another payment of the quote came first.
    end;
  end if;

  for item in
    select call.n from unnest(calls) call
    where kinds[call.n] in ('new', 'quote_paid') and call.deposit is not null
      and call.payment <> all (deposited || adopted)
      and (kinds[call.n] = 'new' or coalesce((
        select payment.settled from payment
        where payment.network = (call.payment).network and payment.reference = (call.payment).reference
      ), true))
    union all
    select call.n from unnest(calls) call
    where kinds[call.n] = 'credited'
      and (select payment.reversed from payment
        where payment.network = (call.payment).network and payment.reference = (call.payment).reference)
  loop
    kinds[item.n] := 'again';
  end loop;
end
$$;
