-- Receipts as callers see them. Their rows never change: a refund is a later transfer, a reversal is recorded
-- in the payment. `receipt.*` is last, so that a new column of the table is appended to the view.
create or replace view issued_receipt as
select coalesce(refund.amount, 0) as refunded,
  case
    when payment.reversed then 'reversed'
    when refund.id is not null then 'refunded'
    else 'final' end as status,
  receipt.*
from receipt
left join transfer refund on refund.kind = 'refund' and refund.ref = uuid_send(receipt.run_id)
left join payment on payment.network = receipt.network and payment.reference = receipt.reference;
