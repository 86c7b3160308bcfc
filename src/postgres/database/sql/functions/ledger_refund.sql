-- Refunds what a receipt debited, once. Returns no row if there is no such receipt.
create or replace function ledger_refund(receipt_id uuid, note text)
returns table (refunded_now boolean, receipt issued_receipt)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  charged receipt;
  is_first boolean;
begin
  select * into charged from receipt where receipt.id = receipt_id;
  -- Of refunds of one call at the same time, the second waits.
  perform from account where account.id = charged.account_id for update;
  is_first := found and not exists (
    select from transfer where kind = (select 'refund') and ref = uuid_send(charged.run_id));
  if is_first then
    perform ledger_transfer(
      revenue, charged.account_id, charged.debited, 'refund', uuid_send(charged.run_id), note);
    perform event_add(charged.account_id, 'receipt.refunded', jsonb_build_object(
      'account_id', 'acct_' || encode(uuid_send(charged.account_id), 'hex'),
      'receipt_id', 'rcpt_' || encode(uuid_send(charged.id), 'hex'),
      'run_id', 'run_' || encode(uuid_send(charged.run_id), 'hex'), 'tool', charged.tool,
      'refunded_usdc_microusd', charged.debited, 'reason', note));
  end if;
  return query select is_first, issued from issued_receipt issued where issued.id = receipt_id;
end
$$;
