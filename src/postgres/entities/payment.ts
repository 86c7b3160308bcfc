import { defineEntity, p } from "@mikro-orm/core";

/** A transaction that reached the treasury and was credited. */
export const PaymentEntity = defineEntity({
  name: "Payment",
  tableName: "payment",
  properties: {
    txSignature: p.blob().primary(),
    accountId: p.uuid(),
    quoteId: p.text(),
    amount: p.bigint(),
    settled: p.boolean(),
    fingerprint: p.blob().nullable(),
    claimKey: p.text().nullable(),
    payer: p.text().nullable(),
    slot: p.bigint(),
    blockTime: p.datetime().length(6),
    finalized: p.boolean(),
    paidBy: p.text(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
  uniques: [
    {
      name: "payment_settled_quote_unique",
      expression: "create unique index payment_settled_quote_unique on payment (quote_id) where settled",
    },
  ],
});
