import { defineEntity, p } from "@mikro-orm/core";

/** A movement of money between two accounts; never changed. */
export const TransferEntity = defineEntity({
  name: "Transfer",
  tableName: "transfer",
  properties: {
    id: p.bigint().primary().autoincrement(),
    debit: p.uuid(),
    credit: p.uuid(),
    amount: p.bigint(),
    kind: p.text(),
    ref: p.blob(),
    note: p.text().nullable(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
  uniques: [{ properties: ["kind", "ref"] }],
});
