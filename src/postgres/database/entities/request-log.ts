import { defineEntity, p } from "@mikro-orm/core";

/** A request of an account's keys, with its sealed params and result. */
export const RequestLogEntity = defineEntity({
  name: "RequestLog",
  tableName: "request_log",
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
