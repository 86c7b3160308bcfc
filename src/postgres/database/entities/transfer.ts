import { defineEntity, p } from "@mikro-orm/core";

/** A movement of money between two accounts, but for charges (see {@link ReceiptEntity}); append-only. */
export const TransferEntity = defineEntity({
  name: "Transfer",
  tableName: "transfer",
  properties: {
    id: p.uuid().primary().defaultRaw("ledger_id()"),
    debit: p.uuid(),
    credit: p.uuid(),
    amount: p.bigint(),
    kind: p.text(),
    ref: p.blob(),
    note: p.text().nullable(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
  uniques: [{ properties: ["kind", "ref"] }],
  indexes: [
    {
      name: "transfer_refund_index",
      expression: "create index transfer_refund_index on transfer (credit) where kind = 'refund'",
    },
    {
      name: "transfer_in_index",
      expression:
        "create index transfer_in_index on transfer (credit, id) where kind in ('deposit', " +
        "'assignment', 'refund', 'reinstatement', 'adjustment', 'clearing')",
    },
    {
      name: "transfer_out_index",
      expression:
        "create index transfer_out_index on transfer (debit, id) where kind in ('reversal', " +
        "'adjustment', 'clearing')",
    },
    {
      name: "transfer_reversal_index",
      expression: "create index transfer_reversal_index on transfer (debit) where kind = 'reversal'",
    },
  ],
});
