import { defineEntity, p } from "@mikro-orm/core";

/** What transfers up to one of them have earned: one row. */
export const RevenueMarkEntity = defineEntity({
  name: "RevenueMark",
  tableName: "revenue_mark",
  properties: {
    whole: p.boolean().primary(),
    countedTo: p.bigint(),
    amount: p.bigint(),
  },
});
