import { defineEntity, p } from "@mikro-orm/core";

/** The model that served a run, and its cost. */
export const RunModelEntity = defineEntity({
  name: "RunModel",
  tableName: "run_model",
  properties: {
    runId: p.uuid().primary(),
    model: p.text(),
    cost: p.bigint().nullable(),
  },
});

/** Calls by quarter of an hour; rows are final. */
export const UsageSlotEntity = defineEntity({
  name: "UsageSlot",
  tableName: "usage_slot",
  properties: {
    accountId: p.uuid().primary(),
    slot: p.datetime().length(6).primary(),
    tool: p.text().primary(),
    keyId: p.uuid().primary(),
    model: p.text().primary(),
    code: p.text().primary(),
    calls: p.bigint(),
    spent: p.bigint(),
    costed: p.bigint(),
    cost: p.bigint(),
    latency: p.array().columnType("bigint[]"),
  },
  indexes: [{ properties: ["slot"] }],
});

/** Up to where calls are counted; one row. */
export const UsageMarkEntity = defineEntity({
  name: "UsageMark",
  tableName: "usage_mark",
  properties: {
    whole: p.boolean().primary(),
    countedTo: p.datetime().length(6),
  },
});
