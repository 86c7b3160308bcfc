import { defineEntity, p } from "@mikro-orm/core";
import { sqlIndex, sqlUnique } from "./sql-index.ts";

/** Where events of an account are sent, with its sealed secrets. */
export const WebhookEndpointEntity = defineEntity({
  name: "WebhookEndpoint",
  properties: {
    id: p.uuid().primary(),
    accountId: p.uuid(),
    slot: p.integer(),
    url: p.text(),
    types: p.type("text[]"),
    disabled: p.text().nullable(),
    keyVersion: p.integer(),
    secret: p.blob(),
    oldKeyVersion: p.integer().nullable(),
    oldSecret: p.blob().nullable(),
    oldUntil: p.datetime().length(6).nullable(),
    failures: p.integer().default(0),
    failingSince: p.datetime().length(6).nullable(),
    retryAt: p.datetime().length(6).defaultRaw("now()"),
    owner: p.uuid().nullable(),
    leaseUntil: p.datetime().length(6).defaultRaw("'-infinity'"),
    verified: p.boolean().default(true),
    claimedAt: p.datetime().length(6).defaultRaw("'-infinity'"),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
  uniques: [{ name: "webhook_endpoint_slot_unique", properties: ["accountId", "slot"] }],
});

/** The outbox: events, each written by the transaction that causes it. */
export const WebhookEventEntity = defineEntity({
  name: "WebhookEvent",
  properties: {
    id: p.uuid().primary().defaultRaw("ledger_id()"),
    seq: p.bigint().autoincrement(),
    accountId: p.uuid(),
    type: p.text(),
    data: p.json(),
    once: p.text().nullable(),
    createdAt: p.datetime().length(6).defaultRaw("now()").index(),
  },
  indexes: [
    { name: "webhook_event_account_id_created_at_index", properties: ["accountId", "createdAt"] },
    sqlUnique("webhook_event_once_unique", "on webhook_event (account_id, once) where once is not null"),
  ],
});

/** An event that an endpoint has or will receive. */
export const WebhookDeliveryEntity = defineEntity({
  name: "WebhookDelivery",
  properties: {
    endpointId: p.uuid().primary(),
    seq: p.bigint().primary(),
    eventId: p.uuid().index(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    deliveredAt: p.datetime().length(6).nullable(),
  },
  indexes: [
    sqlIndex(
      "webhook_delivery_pending_index",
      "on webhook_delivery (endpoint_id, seq) where delivered_at is null",
    ),
  ],
});

/** An attempt to deliver. */
export const WebhookAttemptEntity = defineEntity({
  name: "WebhookAttempt",
  properties: {
    id: p.uuid().primary().defaultRaw("ledger_id()"),
    endpointId: p.uuid(),
    eventId: p.uuid().index(),
    status: p.integer().nullable(),
    error: p.text().nullable(),
    ms: p.integer(),
    startedAt: p.datetime().length(6),
  },
  indexes: [{ name: "webhook_attempt_endpoint_id_id_index", properties: ["endpointId", "id"] }],
});
