import { defineEntity, p } from "@mikro-orm/core";

/** What the keys of a budget have taken from the balance on one day of UTC. */
export const KeyBudgetEntity = defineEntity({
  name: "KeyBudget",
  tableName: "key_budget",
  properties: {
    budgetId: p.uuid().primary(),
    day: p.date().primary(),
    spent: p.bigint(),
  },
});

/** When a key was last used. */
export const KeyUseEntity = defineEntity({
  name: "KeyUse",
  tableName: "key_use",
  properties: {
    keyId: p.uuid().primary(),
    lastUsedAt: p.datetime().length(6),
  },
});
