import { defineEntity, p } from "@mikro-orm/core";
import { RateTierEntity } from "./rate-tier.ts";

/** A customer, identified by its wallet. */
export const AccountEntity = defineEntity({
  name: "Account",
  tableName: "account",
  properties: {
    id: p.uuid().primary(),
    wallet: p.text().unique(),
    available: p.bigint().defaultRaw("0"),
    tier: () => p.manyToOne(RateTierEntity).mapToPk().joinColumn("tier").index().default("default"),
    ratePerMinute: p.integer().nullable(),
    burst: p.integer().nullable(),
    accountRatePerMinute: p.integer().nullable(),
    accountBurst: p.integer().nullable(),
    operator: p.boolean().default(false),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    lowBalance: p.bigint().nullable(),
    lowBalanceReported: p.boolean().default(false),
    blockedReason: p.text().nullable(),
    limitsVersion: p.integer().default(0),
    requestBodies: p.text().default("none"),
    requestHours: p.integer().default(168),
    frozen: p.boolean().default(false),
    movedTo: p.integer().nullable(),
  },
  indexes: [
    {
      name: "account_wallet_pattern_index",
      expression: "create index account_wallet_pattern_index on account (wallet text_pattern_ops)",
    },
  ],
});
