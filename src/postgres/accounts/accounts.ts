import { createHash } from "node:crypto";
import type { InferEntity } from "@mikro-orm/core";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { Account, Accounts, TierChange } from "../../app/accounts/accounts.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import { MAX_MICRO_USD, type MicroUsd } from "../../domain/core/money.ts";
import { accountTierOf, DEFAULT_TIER, MAX_TIER } from "../../domain/accounts/rate-limit.ts";
import { AccountEntity } from "../database/entities/account.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";

/** The API name of the adjustment's amount. */
const AMOUNT = "amount_usdc_microusd";

/** Columns that change without a ledger transfer. */
type Change = Partial<TierRow & { operator: boolean; blockedReason: string | null }>;

/** A stored tier; null means the default. */
interface TierRow {
  ratePerMinute: number;
  burst: number;
  accountRatePerMinute: number | null;
  accountBurst: number | null;
}

/**
 * Account administration. Database triggers notify every instance's key cache of changed tiers, roles and
 * blocks.
 */
export class PostgresAccounts implements Omit<Accounts, "list"> {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(orm: MikroORM, clock: Clock, random: Random) {
    this.#orm = orm;
    this.#clock = clock;
    this.#random = random;
  }

  async create(wallet: string): Promise<Account> {
    if (!parseAddress(wallet)) throw invalidField("wallet", "is not a Solana address (base58, 32 bytes)");
    const em = this.#orm.em.fork();
    const id = uuidFromId("acct", newId("acct", this.#clock, this.#random));
    await em.upsert(
      AccountEntity,
      { id, wallet, ...DEFAULT_TIER },
      { onConflictFields: ["wallet"], onConflictAction: "ignore" },
    );
    em.clear();
    return toAccount(await em.findOneOrFail(AccountEntity, { wallet }));
  }

  async get(accountId: string): Promise<Account> {
    const id = accountUuid(accountId);
    return toAccount(
      await withRetry(RETRY_MS, () =>
        this.#orm.em.fork().findOneOrFail(AccountEntity, { id }, { failHandler: notFound }),
      ),
    );
  }

  async adjust(adjustment: {
    accountId: string;
    amount: MicroUsd;
    reason: string;
    idempotencyKey: string;
  }): Promise<Account> {
    const { accountId, amount, reason, idempotencyKey } = adjustment;
    if (amount === 0n) throw invalidField(AMOUNT, "must not be 0");
    if (amount > MAX_MICRO_USD || amount < -MAX_MICRO_USD)
      throw invalidField(AMOUNT, `must be between -${MAX_MICRO_USD} and ${MAX_MICRO_USD}`);
    const uuid = accountUuid(accountId);
    const key = createHash("sha256").update(`${uuid}:${idempotencyKey}`).digest();
    const text = "select ledger_adjust(?, ?, ?, ?) as outcome";
    // The idempotency key makes a retry after a lost response safe.
    const [row] = await withRetry(RETRY_MS, () =>
      this.#orm.em.fork().execute<{ outcome: string }[]>(text, [uuid, amount, key, reason]),
    );
    switch (row?.outcome) {
      case "unknown":
        throw notFound();
      case "insufficient":
        throw invalidField(AMOUNT, "the balance does not cover it");
      case "excessive":
        throw invalidField(AMOUNT, `the balance would be more than ${MAX_MICRO_USD}`);
      case "mismatch":
        throw new ToolgateError(
          "IDEMPOTENCY_MISMATCH",
          "idempotency_key: was used with another amount; use a new key for a new adjustment",
        );
      default:
        return this.get(accountId);
    }
  }

  async setTier(accountId: string, change: TierChange): Promise<Account> {
    const { ratePerMinute, burst, accountRatePerMinute, accountBurst } = change;
    const limits = [
      { field: "rate_per_minute", value: ratePerMinute, min: 1, max: MAX_TIER.ratePerMinute },
      { field: "burst", value: burst, min: 1, max: MAX_TIER.burst },
      {
        field: "account_rate_per_minute",
        value: accountRatePerMinute,
        min: 0,
        max: MAX_TIER.ratePerMinute,
      },
      { field: "account_burst", value: accountBurst, min: 0, max: MAX_TIER.burst },
    ];
    for (const { field, min, max, value = min } of limits) {
      if (value < min || value > max) throw invalidField(field, `must be from ${min} to ${max}`);
    }
    if (limits.every(({ value }) => value === undefined))
      throw invalidField("tier", "must name what to change");
    return this.#change(accountId, {
      ...(ratePerMinute !== undefined && { ratePerMinute }),
      ...(burst !== undefined && { burst }),
      ...(accountRatePerMinute !== undefined && { accountRatePerMinute: accountRatePerMinute || null }),
      ...(accountBurst !== undefined && { accountBurst: accountBurst || null }),
    });
  }

  setOperator(accountId: string, operator: boolean): Promise<Account> {
    return this.#change(accountId, { operator });
  }

  setBlocked(accountId: string, { blocked, reason }: { blocked: boolean; reason: string }): Promise<Account> {
    // PostgreSQL text excludes NUL and lone surrogates.
    return this.#change(accountId, {
      blockedReason: blocked ? reason.replaceAll("\0", "").toWellFormed() : null,
    });
  }

  async #change(accountId: string, change: Change): Promise<Account> {
    const id = accountUuid(accountId);
    const changed = await withRetry(RETRY_MS, () =>
      this.#orm.em.fork().nativeUpdate(AccountEntity, { id }, change),
    );
    if (changed === 0) throw notFound();
    return this.get(accountId);
  }
}

function toAccount(row: InferEntity<typeof AccountEntity>): Account {
  const tier = { ratePerMinute: row.ratePerMinute, burst: row.burst };
  return {
    accountId: idFromUuid("acct", row.id),
    wallet: row.wallet,
    balance: row.available,
    tier,
    accountTier: accountTierOf(tier, { ratePerMinute: row.accountRatePerMinute, burst: row.accountBurst }),
    operator: row.operator,
    blockedReason: row.blockedReason ?? undefined,
    createdAt: row.createdAt,
  };
}

function accountUuid(accountId: string): string {
  const uuid = uuidOf("acct", accountId);
  if (uuid === undefined) throw notFound();
  return uuid;
}

function notFound(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such account");
}
