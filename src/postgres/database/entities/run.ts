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
    groupId: p.uuid().nullable(),
    configVersion: p.integer().default(0),
    requestId: p.text().nullable(),
  },
  indexes: [
    { properties: ["accountId", "id"] },
    {
      name: "run_status_account_id_id_index",
      expression:
        "create index run_status_account_id_id_index on run (status, account_id, id) " +
        "where status <> 'completed'",
    },
    {
      name: "run_request_index",
      expression:
        "create index run_request_index on run (request_id) where not starts_with(request_id, 'req_')",
    },
  ],
});
