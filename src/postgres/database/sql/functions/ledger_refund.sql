-- Refunds what a receipt debited, once. Returns no row if there is no such receipt.
create or replace function ledger_refund(receipt_id uuid, note text)
returns table (refunded_now boolean, receipt issued_receipt)
language plpgsql rows 1 security definer
set search_path = public, pg_temp
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  revenue constant uuid := '00000000-0000-0000-0000-000000000002';
  refund transfer;
begin
  insert into transfer (debit, credit, amount, kind, ref, note)
  select revenue, charged.account_id, charged.debited, 'refund', uuid_send(charged.run_id),
    ledger_refund.note
  from receipt charged where charged.id = receipt_id
  on conflict (kind, ref) do nothing
  returning * into refund;
  update account set available = account.available + refund.amount where account.id = refund.credit;
  perform event_add(charged.account_id, 'receipt.refunded', jsonb_build_object(
    'account_id', 'acct_' || encode(uuid_send(charged.account_id), 'hex'),
    'receipt_id', 'rcpt_' || encode(uuid_send(charged.id), 'hex'),
    'run_id', 'run_' || encode(uuid_send(charged.run_id), 'hex'), 'tool', charged.tool,
    'refunded_usdc_microusd', refund.amount, 'reason', refund.note))
  from receipt charged where charged.id = receipt_id and refund.id is not null;
  return query select refund.id is not null, issued from issued_receipt issued where issued.id = receipt_id;
end
$$;
