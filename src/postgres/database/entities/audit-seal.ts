import { defineEntity, p } from "@mikro-orm/core";

/** What an audit found clean and no longer reads; append-only. */
export const AuditSealEntity = defineEntity({
  name: "AuditSeal",
  tableName: "audit_seal",
  properties: {
    number: p.integer().primary().autoincrement(false),
    upTo: p.datetime().length(6).unique(),
    firstRun: p.uuid().nullable(),
    entries: p.bigint(),
    hash: p.blob(),
    whole: p.boolean(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** Sums of all sealed entries. */
export const AuditSumEntity = defineEntity({
  name: "AuditSum",
  tableName: "audit_sum",
  properties: {
    kind: p.text().primary(),
    holder: p.blob().primary(),
    amount: p.bigint(),
  },
});

/** The entries before a seal that are not archived. At most one row. */
export const AuditRestEntity = defineEntity({
  name: "AuditRest",
  tableName: "audit_rest",
  properties: {
    number: p.integer().primary().autoincrement(false),
    entries: p.bigint(),
    hash: p.blob(),
  },
});
