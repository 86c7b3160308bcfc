import { defineEntity, p } from "@mikro-orm/core";

/** An operator's action or its failure; append-only. */
export const OperatorActionEntity = defineEntity({
  name: "OperatorAction",
  tableName: "operator_action",
  properties: {
    id: p.uuid().primary(),
    at: p.datetime().length(6).defaultRaw("now()"),
    accountId: p.uuid().nullable(),
    actor: p.text(),
    action: p.text(),
    target: p.text(),
    details: p.json(),
    failedAction: p.uuid().nullable(),
    failure: p.text().nullable(),
    once: p.text().nullable(),
    repeats: p.uuid().nullable(),
  },
  indexes: [
    {
      name: "operator_action_once_index",
      expression:
        "create index operator_action_once_index on operator_action (target, action, id) where once " +
        "is not null",
    },
    {
      name: "operator_action_failed_index",
      expression:
        "create index operator_action_failed_index on operator_action (failed_action) where " +
        "failed_action is not null",
    },
  ],
});
