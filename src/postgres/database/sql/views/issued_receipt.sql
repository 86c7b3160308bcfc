-- Receipts as callers see them. Their rows never change: a refund is a later transfer, a reversal is recorded
-- in the payment.
create or replace view issued_receipt as
select receipt.id, receipt.run_id, receipt.account_id, receipt.tool, receipt.quote_id, receipt.step_id,
  receipt.tx_signature, receipt.quoted, receipt.debited, coalesce(refund.amount, 0) as refunded,
  receipt.paid_by,
  case
    when payment.reversed then 'reversed'
    when refund.id is not null then 'refunded'
    else 'final' end as status,
  receipt.created_at
from receipt
left join transfer refund on refund.kind = 'refund' and refund.ref = uuid_send(receipt.run_id)
left join payment on payment.tx_signature = receipt.tx_signature;
