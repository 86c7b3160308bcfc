import { defineEntity, p } from "@mikro-orm/core";

/** A month whose runs and receipts are in the archive. */
export const ArchiveMonthEntity = defineEntity({
  name: "ArchiveMonth",
  tableName: "archive_month",
  properties: {
    month: p.date().primary(),
    low: p.uuid(),
    high: p.uuid(),
    runs: p.bigint(),
    receipts: p.bigint(),
    charged: p.bigint(),
    firstReceipt: p.uuid().nullable(),
    lastReceipt: p.uuid().nullable(),
    manifest: p.blob(),
    archivedAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** What the archived calls of a month add up to, by account and key. */
export const ArchiveUseEntity = defineEntity({
  name: "ArchiveUse",
  tableName: "archive_use",
  indexes: [{ name: "archive_use_account_index", properties: ["accountId", "month"] }],
  properties: {
    id: p.uuid().primary().defaultRaw("gen_random_uuid()"),
    month: p.date().index(),
    accountId: p.uuid(),
    keyId: p.uuid().nullable(),
    runs: p.bigint(),
    receipts: p.bigint(),
    charged: p.bigint(),
    firstReceipt: p.uuid().nullable(),
    lastReceipt: p.uuid().nullable(),
  },
});
