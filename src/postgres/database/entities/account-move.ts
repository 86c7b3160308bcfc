import { defineEntity, p } from "@mikro-orm/core";

/** A move of an account to another cell, or from one. */
export const AccountMoveEntity = defineEntity({
  name: "AccountMove",
  tableName: "account_move",
  properties: {
    id: p.uuid().primary(),
    direction: p.text(),
    accountId: p.uuid(),
    otherCell: p.integer(),
    otherAccount: p.uuid().nullable(),
    amount: p.bigint(),
    rest: p.boolean(),
    movedAt: p.datetime().length(6).defaultRaw("now()"),
  },
  indexes: [
    {
      name: "account_move_open_index",
      expression:
        "create index account_move_open_index on account_move (account_id) where other_account is null",
    },
  ],
});

/** A run of another cell whose stored answer came with its account. */
export const MovedRunEntity = defineEntity({
  name: "MovedRun",
  tableName: "moved_run",
  properties: {
    runId: p.uuid().primary(),
    receipt: p.json().columnType("json").nullable(),
  },
});
