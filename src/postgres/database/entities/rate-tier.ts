import { defineEntity, p } from "@mikro-orm/core";

/** A named tier of the configuration in force. */
export const RateTierEntity = defineEntity({
  name: "RateTier",
  tableName: "rate_tier",
  properties: {
    name: p.text().primary(),
    ratePerMinute: p.integer(),
    burst: p.integer(),
    accountRatePerMinute: p.integer().nullable(),
    accountBurst: p.integer().nullable(),
  },
});
