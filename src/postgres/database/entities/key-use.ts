import { defineEntity, p } from "@mikro-orm/core";

/** Spending of a budget's keys from the balance on one UTC day. */
export const KeyBudgetEntity = defineEntity({
  name: "KeyBudget",
  tableName: "key_budget",
  properties: {
    budgetId: p.uuid().primary(),
    day: p.date().primary(),
    spent: p.bigint(),
  },
});

/** The last use of a key. */
export const KeyUseEntity = defineEntity({
  name: "KeyUse",
  tableName: "key_use",
  properties: {
    keyId: p.uuid().primary(),
    lastUsedAt: p.datetime().length(6),
  },
});
