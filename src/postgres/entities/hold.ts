import { defineEntity, p } from "@mikro-orm/core";

/** What a run has reserved of its account's balance. */
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
