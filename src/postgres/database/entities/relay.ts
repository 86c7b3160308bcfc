import { defineEntity, p } from "@mikro-orm/core";

/** A transaction signed by the gasless relay, stored before it is sent. */
export const RelayEntity = defineEntity({
  name: "Relay",
  tableName: "relay",
  properties: {
    messageHash: p.blob().primary(),
    quoteId: p.text(),
    accountId: p.uuid(),
    keyId: p.uuid().nullable(),
    txSignature: p.blob().unique(),
    signedTransaction: p.blob(),
    feeLamports: p.bigint(),
    lastValidBlockHeight: p.bigint(),
    state: p.text(),
    reason: p.text().nullable(),
    claimedAt: p.datetime().length(6),
    movedAt: p.datetime().length(6),
  },
  indexes: [
    { name: "relay_account_index", properties: ["accountId", "claimedAt"] },
    {
      name: "relay_account_risk_index",
      expression:
        "create index relay_account_risk_index on relay (account_id, claimed_at) where state <> 'confirmed'",
    },
    {
      name: "relay_payer_index",
      expression: "create index relay_payer_index on relay (relay_payer(signed_transaction), claimed_at)",
    },
    {
      name: "relay_unpaid_index",
      expression:
        "create index relay_unpaid_index on relay (claimed_at) include (fee_lamports) where state <> " +
        "'confirmed' and fee_lamports > 0",
    },
    {
      name: "relay_unfinished_index",
      expression:
        "create index relay_unfinished_index on relay (moved_at) where state in ('claimed', " +
        "'broadcast', 'unknown')",
    },
    {
      name: "relay_finished_index",
      expression:
        "create index relay_finished_index on relay (claimed_at) where state in ('confirmed', 'failed')",
    },
    {
      name: "relay_failed_index",
      expression: "create index relay_failed_index on relay (moved_at, tx_signature) where state = 'failed'",
    },
  ],
  uniques: [
    {
      name: "relay_quote_unique",
      expression: "create unique index relay_quote_unique on relay (quote_id) where state <> 'failed'",
    },
  ],
});

/** Lamports that the relay spent on one UTC day. */
export const RelayBudgetEntity = defineEntity({
  name: "RelayBudget",
  tableName: "relay_budget",
  properties: {
    day: p.date().primary(),
    lamports: p.bigint(),
  },
});
