import { defineEntity, p } from "@mikro-orm/core";
import { sqlIndex } from "./sql-index.ts";

/** A named tier of the configuration in force. */
export const RateTierEntity = defineEntity({
  name: "RateTier",
  properties: {
    name: p.text().primary(),
    ratePerMinute: p.integer(),
    burst: p.integer(),
    accountRatePerMinute: p.integer().nullable(),
    accountBurst: p.integer().nullable(),
  },
});

/** A customer, identified by its wallet. */
export const AccountEntity = defineEntity({
  name: "Account",
  properties: {
    id: p.uuid().primary(),
    wallet: p.text().unique(),
    available: p.bigint().defaultRaw("0"),
    tier: () => p.manyToOne(RateTierEntity).mapToPk().joinColumn("tier").index().default("default"),
    ratePerMinute: p.integer().nullable(),
    burst: p.integer().nullable(),
    accountRatePerMinute: p.integer().nullable(),
    accountBurst: p.integer().nullable(),
    operator: p.boolean().default(false),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    lowBalance: p.bigint().nullable(),
    lowBalanceReported: p.boolean().default(false),
    blockedReason: p.text().nullable(),
    limitsVersion: p.integer().default(0),
    requestBodies: p.text().default("none"),
    requestHours: p.integer().default(168),
    frozen: p.boolean().default(false),
    movedTo: p.integer().nullable(),
    seq: p.bigint().defaultRaw("0"),
  },
  indexes: [
    sqlIndex("account_wallet_pattern_index", "on account (wallet text_pattern_ops)"),
    sqlIndex("account_created_index", "on account using brin (created_at)"),
  ],
});

/** A move of an account to another cell, or from one. */
export const AccountMoveEntity = defineEntity({
  name: "AccountMove",
  properties: {
    id: p.uuid().primary(),
    direction: p.text(),
    accountId: p.uuid(),
    otherCell: p.integer(),
    otherAccount: p.uuid().nullable(),
    amount: p.bigint(),
    rest: p.boolean(),
    movedAt: p.datetime().length(6).defaultRaw("now()"),
  },
  indexes: [sqlIndex("account_move_open_index", "on account_move (account_id) where other_account is null")],
});

/** A run of another cell whose stored answer came with its account. */
export const MovedRunEntity = defineEntity({
  name: "MovedRun",
  properties: {
    runId: p.uuid().primary(),
    receipt: p.json().columnType("json").nullable(),
  },
});

/** Limits of a key or a group of keys per UTC day, per month and in all, and what counts against them. */
export const BudgetEntity = defineEntity({
  name: "Budget",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk().index(),
    name: p.text().nullable(),
    dayLimit: p.bigint().nullable(),
    monthLimit: p.bigint().nullable(),
    totalLimit: p.bigint().nullable(),
    warnPercent: p.integer().default(80),
    day: p.date(),
    month: p.date(),
    daySpent: p.bigint().defaultRaw("0"),
    monthSpent: p.bigint().defaultRaw("0"),
    totalSpent: p.bigint().defaultRaw("0"),
    dayLevel: p.integer().default(0),
    monthLevel: p.integer().default(0),
    totalLevel: p.integer().default(0),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
  },
});

/** An API key; only its hash is stored. */
export const ApiKeyEntity = defineEntity({
  name: "ApiKey",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk().index(),
    sha256: p.blob().unique(),
    prefix: p.text(),
    secretVersion: p.integer().nullable(),
    issuedBy: p.integer().nullable(),
    name: p.text(),
    scopes: p.array(),
    createdAt: p.datetime().length(6).defaultRaw("now()"),
    revokedAt: p.datetime().length(6).nullable(),
    expiresAt: p.datetime().length(6).nullable(),
    callLimit: p.bigint().nullable(),
    tools: p.array().nullable(),
    budgetId: () => p.manyToOne(BudgetEntity).mapToPk().joinColumn("budget_id").index().nullable(),
    groupId: () => p.manyToOne(BudgetEntity).mapToPk().joinColumn("group_id").index().nullable(),
    replacedBy: p.uuid().nullable(),
  },
  indexes: [
    sqlIndex("api_key_prefix_pattern_index", "on api_key (prefix text_pattern_ops)"),
    sqlIndex("api_key_issued_by_index", "on api_key (sha256) where issued_by is not null"),
  ],
});

/** The last use of a key. */
export const KeyUseEntity = defineEntity({
  name: "KeyUse",
  properties: {
    keyId: p.uuid().primary(),
    lastUsedAt: p.datetime().length(6),
  },
});

/** Token bucket of a key or an account: the microsecond when it is full again. */
export const RateBucketEntity = defineEntity({
  name: "RateBucket",
  properties: {
    bucketId: p.uuid().primary(),
    tat: p.bigint(),
  },
});

/** A pending sign-in challenge for a wallet. */
export const SignInChallengeEntity = defineEntity({
  name: "SignInChallenge",
  properties: {
    nonce: p.text().primary(),
    input: p.json(),
    createdAt: p.datetime().length(6),
    expiresAt: p.datetime().length(6).index(),
  },
});

/** A nonce that a wallet's signed request has used. */
export const UsedNonceEntity = defineEntity({
  name: "UsedNonce",
  properties: {
    nonce: p.text().primary(),
    expiresAt: p.datetime().length(6).index(),
  },
});

/** A console session, identified by a cookie; only its hash is stored. */
export const SessionEntity = defineEntity({
  name: "Session",
  tableName: "console_session",
  properties: {
    id: p.uuid().primary(),
    account: () => p.manyToOne(AccountEntity).mapToPk().index(),
    sha256: p.blob().unique(),
    address: p.text(),
    userAgent: p.text(),
    createdAt: p.datetime().length(6),
    lastUsedAt: p.datetime().length(6),
    expiresAt: p.datetime().length(6).index(),
  },
});
