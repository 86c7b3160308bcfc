import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";
import { BudgetEntity } from "./budget.ts";

/** An API key; only its hash is stored. */
export const ApiKeyEntity = defineEntity({
  name: "ApiKey",
  tableName: "api_key",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk().index(),
    sha256: p.blob().unique(),
    prefix: p.text(),
    secretVersion: p.integer().nullable(),
    issuedBy: p.integer().nullable(),
    name: p.text(),
    scopes: p.array(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    revokedAt: p.datetime().length(6).nullable(),
    expiresAt: p.datetime().length(6).nullable(),
    callLimit: p.bigint().nullable(),
    tools: p.array().nullable(),
    budgetId: () => p.manyToOne(BudgetEntity).mapToPk().joinColumn("budget_id").index().nullable(),
    groupId: () => p.manyToOne(BudgetEntity).mapToPk().joinColumn("group_id").index().nullable(),
    replacedBy: p.uuid().nullable(),
  },
  indexes: [
    {
      name: "api_key_prefix_pattern_index",
      expression: "create index api_key_prefix_pattern_index on api_key (prefix text_pattern_ops)",
    },
    {
      name: "api_key_issued_by_index",
      expression: "create index api_key_issued_by_index on api_key (sha256) where issued_by is not null",
    },
  ],
});
