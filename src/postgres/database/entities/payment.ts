import { defineEntity, p } from "@mikro-orm/core";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";

/** A payment that was received: credited to its account or kept in suspense. */
export const PaymentEntity = defineEntity({
  name: "Payment",
  tableName: "payment",
  properties: {
    network: p.text().primary(),
    reference: p.blob().primary(),
    accountId: p.uuid(),
    quoteId: p.text().nullable(),
    amount: p.bigint(),
    settled: p.boolean(),
    fingerprint: p.blob().nullable(),
    claimKey: p.text().nullable(),
    payer: p.text().nullable(),
    slot: p.bigint(),
    blockTime: p.datetime().length(6),
    finalized: p.boolean(),
    paidBy: p.text(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    reversed: p.boolean().default(false),
    lookedAt: p.datetime().length(6).defaultRaw("now()"),
    memos: p.text().nullable(),
    assignedTo: p.uuid().nullable(),
  },
  indexes: [
    {
      name: "payment_unfinalized_index",
      expression:
        "create index payment_unfinalized_index on payment (network, looked_at) " +
        "where not finalized and not reversed",
    },
    {
      name: "payment_suspense_index",
      expression:
        "create index payment_suspense_index on payment (created_at, reference) where account_id = " +
        `'${SYSTEM_ACCOUNTS.suspense}' and not reversed`,
    },
    {
      name: "payment_open_index",
      expression:
        "create index payment_open_index on payment (created_at, reference) include (amount) where " +
        `account_id = '${SYSTEM_ACCOUNTS.suspense}' and not reversed and assigned_to is null`,
    },
    {
      name: "payment_deposit_index",
      expression:
        "create index payment_deposit_index on payment (quote_id) where starts_with(quote_id, 'dep_')",
    },
    {
      name: "payment_failed_index",
      expression:
        "create index payment_failed_index on payment (created_at, reference) where reversed or " +
        "(not settled and starts_with(quote_id, 'qt_'))",
    },
  ],
  uniques: [
    {
      name: "payment_settled_quote_unique",
      expression: "create unique index payment_settled_quote_unique on payment (quote_id) where settled",
    },
  ],
});
