import { defineEntity, p } from "@mikro-orm/core";
import { SYSTEM_ACCOUNTS } from "../system-accounts.ts";
import { sqlIndex, sqlUnique } from "./sql-index.ts";
import { AccountEntity } from "./accounts.ts";

/** A movement of money between two accounts, but for charges (see {@link ReceiptEntity}); append-only. */
export const TransferEntity = defineEntity({
  name: "Transfer",
  properties: {
    id: p.uuid().primary().defaultRaw("ledger_id()"),
    debit: p.uuid(),
    credit: p.uuid(),
    amount: p.bigint(),
    kind: p.text(),
    ref: p.blob(),
    note: p.text().nullable(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    seq: p.bigint().nullable(),
    balance: p.bigint().nullable(),
  },
  uniques: [{ properties: ["kind", "ref"] }],
  indexes: [
    sqlIndex("transfer_refund_index", "on transfer (credit) where kind = 'refund'"),
    sqlIndex(
      "transfer_in_index",
      "on transfer (credit, id) where kind in ('deposit', 'assignment', 'refund', " +
        "'reinstatement', 'adjustment', 'clearing')",
    ),
    sqlIndex(
      "transfer_out_index",
      "on transfer (debit, id) where kind in ('reversal', 'adjustment', 'clearing')",
    ),
    sqlIndex("transfer_reversal_index", "on transfer (debit) where kind = 'reversal'"),
  ],
});

/** A payment that was received: credited to its account or kept in suspense. */
export const PaymentEntity = defineEntity({
  name: "Payment",
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
    sqlIndex("payment_created_index", "on payment using brin (created_at)"),
    sqlIndex(
      "payment_unfinalized_index",
      "on payment (network, looked_at) where not finalized and not reversed",
    ),
    sqlIndex(
      "payment_suspense_index",
      "on payment (created_at, reference) where account_id = " +
        `'${SYSTEM_ACCOUNTS.suspense}' and not reversed`,
    ),
    sqlIndex(
      "payment_open_index",
      "on payment (created_at, reference) include (amount) where " +
        `account_id = '${SYSTEM_ACCOUNTS.suspense}' and not reversed and assigned_to is null`,
    ),
    sqlIndex("payment_deposit_index", "on payment (quote_id) where starts_with(quote_id, 'dep_')"),
    sqlIndex(
      "payment_failed_index",
      "on payment (created_at, reference) where reversed or (not settled and " +
        "starts_with(quote_id, 'qt_'))",
    ),
  ],
  uniques: [sqlUnique("payment_settled_quote_unique", "on payment (quote_id) where settled")],
});

/** An expected transfer to the treasury, created by an account. */
export const DepositEntity = defineEntity({
  name: "Deposit",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk(),
    amount: p.bigint(),
    reference: p.blob().unique(),
    txSignature: p.blob().nullable(),
    createdAt: p.datetime().length(6),
    cancelledAt: p.datetime().length(6).nullable(),
  },
  indexes: [{ properties: ["account", "id"] }],
});

/** Revenue summed up to an entry: one row. */
export const RevenueMarkEntity = defineEntity({
  name: "RevenueMark",
  properties: {
    whole: p.boolean().primary(),
    countedTo: p.uuid(),
    amount: p.bigint(),
  },
});

/** How one transaction changed a token account of the treasury; append-only. */
export const TreasuryMovementEntity = defineEntity({
  name: "TreasuryMovement",
  indexes: [{ properties: ["createdAt"] }],
  properties: {
    tokenAccount: p.blob().primary(),
    txSignature: p.blob().primary(),
    slot: p.bigint(),
    blockTime: p.datetime().length(6),
    change: p.bigint(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** How far a treasury token account was scanned, and its expected balance there. */
export const TreasuryWatchEntity = defineEntity({
  name: "TreasuryWatch",
  properties: {
    tokenAccount: p.blob().primary(),
    slot: p.bigint(),
    lookedAt: p.datetime().length(6).defaultRaw("now()"),
    openingAmount: p.bigint(),
    openingSlot: p.bigint(),
    expected: p.bigint(),
    installedAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** A transaction signed by the gasless relay, stored before it is sent. */
export const RelayEntity = defineEntity({
  name: "Relay",
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
    sqlIndex("relay_account_risk_index", "on relay (account_id, claimed_at) where state <> 'confirmed'"),
    sqlIndex("relay_payer_index", "on relay (relay_payer(signed_transaction), claimed_at)"),
    sqlIndex(
      "relay_unpaid_index",
      "on relay (claimed_at) include (fee_lamports) where state <> 'confirmed' and fee_lamports > 0",
    ),
    sqlIndex(
      "relay_unfinished_index",
      "on relay (moved_at) where state in ('claimed', 'broadcast', 'unknown')",
    ),
    sqlIndex("relay_finished_index", "on relay (claimed_at) where state in ('confirmed', 'failed')"),
    sqlIndex("relay_failed_index", "on relay (moved_at, tx_signature) where state = 'failed'"),
  ],
  uniques: [sqlUnique("relay_quote_unique", "on relay (quote_id) where state <> 'failed'")],
});

/** Lamports that the relay spent on one UTC day. */
export const RelayBudgetEntity = defineEntity({
  name: "RelayBudget",
  properties: {
    day: p.date().primary(),
    lamports: p.bigint(),
  },
});
