import { Migration } from "@mikro-orm/migrations";

/**
 * The same for one run, as a value: each of its tables is read by key, also by a plan from when they were empty. The kind is told by a
 * subquery, so that no plan takes the index of all refunds for it.
 */
export const RECEIPT_OF = (run: string) => /* sql */ `(
  select row(
    receipt.id, receipt.run_id, receipt.account_id, receipt.tool, receipt.quote_id, receipt.step_id, receipt.tx_signature,
    receipt.quoted, receipt.debited, coalesce(refund.amount, 0), receipt.paid_by,
    case when payment.reversed then 'reversed' when refund.amount is not null then 'refunded' else 'final' end,
    receipt.created_at)::issued_receipt
  from (select * from receipt where run_id = ${run} offset 0) receipt
  left join lateral (select amount from transfer where kind = (select 'refund') and ref = uuid_send(receipt.run_id) offset 0) refund on true
  left join lateral (select reversed from payment where tx_signature = receipt.tx_signature offset 0) payment on true)`;

/**
 * Receipts as callers see them. Their rows never change: what was refunded later is told by a later transfer, what was reversed by
 * its payment.
 */
export class Receipts extends Migration {
  override name = "0002-receipts";

  override up(): void {
    this.addSql(/* sql */ `
      create view issued_receipt as
      select receipt.id, receipt.run_id, receipt.account_id, receipt.tool, receipt.quote_id, receipt.step_id, receipt.tx_signature,
             receipt.quoted, receipt.debited, coalesce(refund.amount, 0) as refunded, receipt.paid_by,
             case when payment.reversed then 'reversed' when refund.id is not null then 'refunded' else 'final' end as status,
             receipt.created_at
      from receipt
      left join transfer refund on refund.kind = 'refund' and refund.ref = uuid_send(receipt.run_id)
      left join payment on payment.tx_signature = receipt.tx_signature`);
  }
}
