import { defineEntity, p } from "@mikro-orm/core";

/** The amount that a run reserves on its account's balance. */
export const HoldEntity = defineEntity({
  name: "Hold",
  tableName: "hold",
  properties: {
    runId: p.uuid().primary(),
    accountId: p.uuid(),
    amount: p.bigint(),
    state: p.text(),
  },
});
