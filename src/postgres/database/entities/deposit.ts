import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** An expected transfer to the treasury, created by an account. */
export const DepositEntity = defineEntity({
  name: "Deposit",
  tableName: "deposit",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk(),
    amount: p.bigint(),
    reference: p.blob().unique(),
    txSignature: p.blob().nullable(),
    createdAt: p.datetime().length(6),
    cancelledAt: p.datetime().length(6).nullable(),
  },
  indexes: [{ properties: ["account", "id"] }],
});
