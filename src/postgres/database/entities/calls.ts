import { defineEntity, p } from "@mikro-orm/core";
import { sqlIndex } from "./sql-index.ts";

/** The charge of one call, and its record; append-only. */
export const ReceiptEntity = defineEntity({
  name: "Receipt",
  properties: {
    id: p.uuid(),
    runId: p.uuid().primary(),
    accountId: p.uuid(),
    tool: p.text(),
    quoteId: p.text().nullable(),
    stepId: p.text().nullable(),
    network: p.text().nullable(),
    reference: p.blob().nullable(),
    quoted: p.bigint(),
    debited: p.bigint(),
    paidBy: p.text(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
  indexes: [
    { properties: ["id"] },
    { properties: ["accountId", "id"] },
    sqlIndex("receipt_payment_index", "on receipt (network, reference) where reference is not null"),
  ],
});

/** One execution of a tool, with the lease of its instance. */
export const RunEntity = defineEntity({
  name: "Run",
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
    seq: p.bigint().nullable(),
    balance: p.bigint().nullable(),
    returnSeq: p.bigint().nullable(),
    returnBalance: p.bigint().nullable(),
  },
  indexes: [
    sqlIndex("run_account_id_id_index", "on run (account_id, id) where account_id is not null"),
    sqlIndex("run_status_account_id_id_index", "on run (status, account_id, id) where status <> 'completed'"),
    sqlIndex("run_request_index", "on run (request_id) where not starts_with(request_id, 'req_')"),
  ],
});

/** A claim: the call that an idempotency key or a payment belongs to, and its result once it ended. */
export const IdempotencyEntity = defineEntity({
  name: "Idempotency",
  properties: {
    accountId: p.uuid().primary(),
    key: p.text().primary(),
    fingerprint: p.blob(),
    state: p.text(),
    runId: p.uuid(),
    network: p.text().nullable(),
    reference: p.blob().nullable(),
    result: p.json().nullable(),
    expiresAt: p.datetime().length(6),
  },
  indexes: [
    sqlIndex("idempotency_expires_at_index", "on idempotency (expires_at) where expires_at < 'infinity'"),
  ],
});

/** A sandbox execution: owner, cancel request and outcome. */
export const SandboxRunEntity = defineEntity({
  name: "SandboxRun",
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
    sqlIndex("sandbox_run_open_index", "on sandbox_run (account_id) where ended_at is null"),
    sqlIndex(
      "sandbox_run_name_index",
      "on sandbox_run (account_id, name, created_at) where name is not null",
    ),
  ],
});

/** Unpaid work of an account's calls to a tool, as a leaky bucket: when it is empty again. */
export const UnpaidWorkEntity = defineEntity({
  name: "UnpaidWork",
  properties: {
    accountId: p.uuid().primary(),
    tool: p.text().primary(),
    freeAt: p.datetime().length(6).index(),
  },
});

/** The model that served a run, and its cost. */
export const RunModelEntity = defineEntity({
  name: "RunModel",
  properties: {
    runId: p.uuid().primary(),
    model: p.text(),
    cost: p.bigint().nullable(),
  },
});

/** Calls by quarter of an hour; rows are final. */
export const UsageSlotEntity = defineEntity({
  name: "UsageSlot",
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
  properties: {
    whole: p.boolean().primary(),
    countedTo: p.datetime().length(6),
  },
});

/** A request of an account's keys, with its sealed params and result. */
export const RequestLogEntity = defineEntity({
  name: "RequestLog",
  properties: {
    accountId: p.uuid().primary(),
    id: p.uuid().primary(),
    requestId: p.text(),
    keyId: p.uuid().nullable(),
    transport: p.text(),
    method: p.text(),
    tool: p.text().nullable(),
    status: p.integer(),
    code: p.text().nullable(),
    runId: p.uuid().nullable(),
    receiptId: p.uuid().nullable(),
    charged: p.bigint(),
    traceId: p.text().nullable(),
    totalUs: p.bigint(),
    toolUs: p.bigint(),
    paymentUs: p.bigint(),
    repeats: p.integer(),
    keyVersion: p.integer().nullable(),
    sealed: p.blob().nullable(),
    receivedAt: p.datetime().length(6),
    expiresAt: p.datetime().length(6).index(),
  },
  indexes: [{ name: "request_log_request_index", properties: ["accountId", "requestId"] }],
});
