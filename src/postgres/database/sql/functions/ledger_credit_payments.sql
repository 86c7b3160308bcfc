-- A step of ledger_authorize: inserts new payments, and locks those that were credited before, so that none
-- is reversed while it buys a call. Returns the payments that this transaction credits ("deposited"), those
-- credited before ("credited"), and those of them that had bought nothing and now buy their call ("adopted").
create or replace function ledger_credit_payments(
  calls ledger_call[], inout kinds text[], payment_claims text[],
  out deposited bytea[], out credited bytea[], out adopted bytea[]
)
language plpgsql
as $$
#variable_conflict use_column
declare
  item record;
begin
  with inserted as (
    insert into payment (
      tx_signature, account_id, quote_id, amount, settled, fingerprint, claim_key, payer, slot, block_time,
      finalized, paid_by)
    select call.tx_signature, call.account_id, call.quote_id, call.deposit, kinds[call.n] = 'new',
      case kinds[call.n] when 'new' then call.fingerprint end,
      case kinds[call.n] when 'new' then call.claim_key end,
      call.payer, call.slot, call.block_time, call.finalized, call.paid_by
    from unnest(calls) call
    where kinds[call.n] in ('new', 'quote_paid') and call.deposit is not null
    order by call.tx_signature
    on conflict do nothing
    returning tx_signature
  )
  select coalesce(array_agg(tx_signature), '{}') into deposited from inserted;

  adopted := '{}';
  credited := array(
    select call.tx_signature from unnest(calls) call
    where kinds[call.n] = 'credited'
      or (kinds[call.n] = 'new' and call.deposit is not null and call.tx_signature <> all (deposited))
    union
    select claim.tx_signature from unnest(calls) call
    cross join lateral (
      select tx_signature from idempotency
      where account_id = call.account_id and key = call.claim_key offset 0
    ) claim
    where kinds[call.n] = 'new' and payment_claims[call.n] <> call.claim_key);
  if credited <> '{}' then
    perform from payment where tx_signature = any (credited) order by tx_signature for update;
    begin
      with adoption as (
        update payment set settled = true, fingerprint = call.fingerprint, claim_key = call.claim_key
        from unnest(calls) call
        where payment.tx_signature = any (credited)
          and kinds[call.n] = 'new' and payment.tx_signature = call.tx_signature
          and payment.tx_signature <> all (deposited)
          and payment.account_id = call.account_id and payment.quote_id = call.quote_id
          and not payment.settled and not payment.reversed
        returning payment.tx_signature
      )
      select coalesce(array_agg(tx_signature), '{}') into adopted from adoption;
    exception when unique_violation then
      -- Another payment of the quote came first.
    end;
  end if;

  for item in
    select call.n from unnest(calls) call
    where kinds[call.n] in ('new', 'quote_paid') and call.deposit is not null
      and call.tx_signature <> all (deposited || adopted)
      and (kinds[call.n] = 'new' or coalesce((
        select payment.settled from payment where payment.tx_signature = call.tx_signature), true))
    union all
    select call.n from unnest(calls) call
    where kinds[call.n] = 'credited'
      and (select payment.reversed from payment where payment.tx_signature = call.tx_signature)
  loop
    kinds[item.n] := 'again';
  end loop;
end
$$;

revoke execute on function ledger_credit_payments from public;
