import { defineEntity, p } from "@mikro-orm/core";

/** A sandbox execution: owner, cancel request and outcome. */
export const SandboxRunEntity = defineEntity({
  name: "SandboxRun",
  tableName: "sandbox_run",
  properties: {
    runId: p.uuid().primary(),
    accountId: p.uuid(),
    keyId: p.uuid().nullable(),
    name: p.text().nullable(),
    cancelRequestedAt: p.datetime().length(6).nullable(),
    status: p.text().nullable(),
    createdAt: p.datetime().length(6).index(),
    endedAt: p.datetime().length(6).nullable(),
  },
  indexes: [
    {
      name: "sandbox_run_open_index",
      expression: "create index sandbox_run_open_index on sandbox_run (account_id) where ended_at is null",
    },
    {
      name: "sandbox_run_name_index",
      expression:
        "create index sandbox_run_name_index on sandbox_run (account_id, name, created_at) where name " +
        "is not null",
    },
  ],
});
