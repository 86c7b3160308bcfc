-- Takes back the credit of a payment that did not stay on the chain. No row if it was taken back before
-- ("again" repeats the answer after a lost response), is finalized or unknown. The balance may fall below
-- zero: the money may be spent.
create or replace function treasury_reverse(of_network text, of_reference bytea, again boolean DEFAULT false)
returns table (account_id uuid, amount bigint, balance bigint)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  treasury constant uuid := '00000000-0000-0000-0000-000000000001';
  taken payment;
  holder uuid;
  available bigint;
begin
  select * into taken from payment
  where network = of_network and reference = of_reference and not finalized and (again or not reversed)
  for update;
  if not found then
    return;
  end if;
  holder := coalesce(taken.assigned_to, taken.account_id);
  if not taken.reversed then
    update payment set reversed = true where network = of_network and reference = of_reference;
    perform ledger_transfer(
      holder, treasury, taken.amount, 'reversal', payment_ref(of_network, of_reference));
    perform event_add(holder, 'payment.reversed', jsonb_build_object(
      'account_id', 'acct_' || encode(uuid_send(holder), 'hex'),
      'amount_usdc_microusd', taken.amount, 'network', of_network,
      'reference', encode(of_reference, 'hex'), 'receipt_ids', (
        select coalesce(jsonb_agg('rcpt_' || encode(uuid_send(receipt.id), 'hex')), '[]') from receipt
        where network = of_network and reference = of_reference)));
  end if;
  select account.available into available from account where id = holder;
  if not found then
    select sum(case when credit = holder then transfer.amount else -transfer.amount end) into available
    from transfer where holder in (credit, debit);
  end if;
  return query select holder, taken.amount, available;
end
$$;
