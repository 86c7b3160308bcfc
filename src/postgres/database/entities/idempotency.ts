import { defineEntity, p } from "@mikro-orm/core";

/** A claim: the call that an idempotency key or a payment belongs to, and its result once it ended. */
export const IdempotencyEntity = defineEntity({
  name: "Idempotency",
  tableName: "idempotency",
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
    {
      name: "idempotency_expires_at_index",
      expression:
        "create index idempotency_expires_at_index on idempotency (expires_at) where expires_at < 'infinity'",
    },
  ],
});
