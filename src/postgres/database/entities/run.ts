import { defineEntity, p } from "@mikro-orm/core";

/** One execution of a tool, with the lease of its instance. */
export const RunEntity = defineEntity({
  name: "Run",
  tableName: "run",
  properties: {
    id: p.uuid().primary(),
    accountId: p.uuid(),
    tool: p.text(),
    status: p.text(),
    owner: p.uuid().nullable(),
    leaseUntil: p.datetime().length(6),
    price: p.bigint(),
    claimKey: p.text().nullable(),
    quoteId: p.text().nullable(),
    stepId: p.text().nullable(),
    network: p.text().nullable(),
    reference: p.blob().nullable(),
    paidBy: p.text(),
    errorCode: p.text().nullable(),
    errorMessage: p.text().nullable(),
    outcome: p.text().nullable(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    startedAt: p.datetime().length(6).nullable(),
    endedAt: p.datetime().length(6).nullable(),
    keyId: p.uuid().nullable(),
    budgetId: p.uuid().nullable(),
  },
  indexes: [
    { properties: ["accountId", "id"] },
    { properties: ["accountId", "status", "id"] },
    {
      name: "run_lease_index",
      expression: "create index run_lease_index on run (lease_until) where status = 'active'",
    },
  ],
});
