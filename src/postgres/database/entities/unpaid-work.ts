import { defineEntity, p } from "@mikro-orm/core";

/** Unpaid work of an account's calls to a tool, as a leaky bucket: when it is empty again. */
export const UnpaidWorkEntity = defineEntity({
  name: "UnpaidWork",
  tableName: "unpaid_work",
  properties: {
    accountId: p.uuid().primary(),
    tool: p.text().primary(),
    freeAt: p.datetime().length(6).index(),
  },
});
