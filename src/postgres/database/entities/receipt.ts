import { defineEntity, p } from "@mikro-orm/core";

/** The charge of one call, and its record; append-only. */
export const ReceiptEntity = defineEntity({
  name: "Receipt",
  tableName: "receipt",
  properties: {
    id: p.uuid(),
    runId: p.uuid().primary(),
    accountId: p.uuid(),
    tool: p.text(),
    quoteId: p.text().nullable(),
    stepId: p.text().nullable(),
    network: p.text().nullable(),
    reference: p.blob().nullable(),
    quoted: p.bigint(),
    debited: p.bigint(),
    paidBy: p.text(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
  indexes: [
    { properties: ["id"] },
    { properties: ["accountId", "id"] },
    {
      name: "receipt_payment_index",
      expression:
        "create index receipt_payment_index on receipt (network, reference) where reference is not null",
    },
  ],
});
