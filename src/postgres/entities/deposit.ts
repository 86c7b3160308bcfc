import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** A transfer to the treasury that an account has announced. */
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
  },
  indexes: [{ properties: ["account", "id"] }],
});
