import { defineEntity, p } from "@mikro-orm/core";

/** The last run of a background job. */
export const JobRunEntity = defineEntity({
  name: "JobRun",
  tableName: "job_run",
  properties: {
    name: p.text().primary(),
    instance: p.uuid(),
    startedAt: p.datetime().length(6),
    endedAt: p.datetime().length(6),
    everyMs: p.bigint(),
    failure: p.text().nullable(),
    failures: p.bigint(),
    succeededAt: p.datetime().length(6).nullable(),
  },
});
