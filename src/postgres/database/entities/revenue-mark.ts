import { defineEntity, p } from "@mikro-orm/core";

/** Revenue summed up to an entry: one row. */
export const RevenueMarkEntity = defineEntity({
  name: "RevenueMark",
  tableName: "revenue_mark",
  properties: {
    whole: p.boolean().primary(),
    countedTo: p.uuid(),
    amount: p.bigint(),
  },
});
