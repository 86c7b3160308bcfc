import { defineEntity, p } from "@mikro-orm/core";
import { sqlIndex } from "./sql-index.ts";

/** A month whose runs and receipts are in the archive. */
export const ArchiveMonthEntity = defineEntity({
  name: "ArchiveMonth",
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

/** What an audit found clean and no longer reads; append-only. */
export const AuditSealEntity = defineEntity({
  name: "AuditSeal",
  properties: {
    number: p.integer().primary().autoincrement(false),
    upTo: p.datetime().length(6).unique(),
    firstRun: p.uuid().nullable(),
    hash: p.blob(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** When each check last read all history. */
export const AuditProgressEntity = defineEntity({
  name: "AuditProgress",
  properties: {
    name: p.text().primary(),
    at: p.datetime().length(6),
    seal: p.integer(),
    violations: p.bigint(),
  },
});

/** Sums of all sealed entries. */
export const AuditSumEntity = defineEntity({
  name: "AuditSum",
  properties: {
    kind: p.text().primary(),
    holder: p.blob().primary(),
    amount: p.bigint(),
  },
});

/** What a seal covers, by kind; append-only. */
export const AuditPartEntity = defineEntity({
  name: "AuditPart",
  properties: {
    number: p.integer().primary().autoincrement(false),
    name: p.text().primary(),
    entries: p.bigint(),
    hash: p.blob(),
  },
});

/** A version of the configuration; append-only. The newest is in force. */
export const ConfigVersionEntity = defineEntity({
  name: "ConfigVersion",
  properties: {
    version: p.integer().primary().autoincrement(false),
    document: p.text(),
    checksum: p.blob(),
    source: p.text(),
    actor: p.text(),
    note: p.text().nullable(),
    appliedAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** The last run of a background job. */
export const JobRunEntity = defineEntity({
  name: "JobRun",
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

/** The instance that runs the singleton jobs, and until when. */
export const LeadershipEntity = defineEntity({
  name: "Leadership",
  properties: {
    name: p.text().primary(),
    owner: p.uuid(),
    until: p.datetime().length(6),
  },
});

/** An operator's action or its failure; append-only. */
export const OperatorActionEntity = defineEntity({
  name: "OperatorAction",
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
    sqlIndex("operator_action_once_index", "on operator_action (target, action, id) where once is not null"),
    sqlIndex(
      "operator_action_failed_index",
      "on operator_action (failed_action) where failed_action is not null",
    ),
    sqlIndex("operator_action_at_index", "on operator_action using brin (at)"),
  ],
});

const secretTable = (name: string) =>
  defineEntity({
    name,
    properties: {
      version: p.integer().primary().autoincrement(false),
      secret: p.blob(),
      activeFrom: p.datetime().length(6),
      createdAt: p.datetime().length(6).defaultRaw("now()"),
    },
  });

/** Secrets that seal quotes. */
export const SealingKeyEntity = secretTable("SealingKey");

/** Secrets that sign API keys. */
export const ApiKeySecretEntity = secretTable("ApiKeySecret");

/** Seeds of the keys that sign x402 offers and receipts. */
export const SigningKeyEntity = secretTable("SigningKey");
