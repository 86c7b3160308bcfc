-- The receipt of a run, as in the view issued_receipt; null if it has none. Each table is read by its key,
-- also by a plan from when it was empty. The kind is a subquery, so that no plan uses the index of all
-- refunds.
create or replace function ledger_receipt(run uuid)
returns issued_receipt language plpgsql stable
set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  found_receipt issued_receipt;
begin
  select coalesce(refund.amount, 0),
    case
      when payment.reversed then 'reversed'
      when refund.amount is not null then 'refunded'
      else 'final' end,
    receipt.*
  into found_receipt
  from (select * from receipt where run_id = run offset 0) receipt
  left join lateral (
    select amount from transfer where kind = (select 'refund') and ref = uuid_send(receipt.run_id) offset 0
  ) refund on true
  left join lateral (
    select reversed from payment
    where network = receipt.network and reference = receipt.reference offset 0
  ) payment on true;
  if found_receipt.id is null then
    select moved.* into found_receipt
    from moved_run, lateral json_populate_record(null::issued_receipt, moved_run.receipt) moved
    where moved_run.run_id = run and moved_run.receipt is not null;
  end if;
  return found_receipt;
end
$$;
