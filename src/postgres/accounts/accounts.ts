import { createHash } from "node:crypto";
import { ForeignKeyConstraintViolationException } from "@mikro-orm/core";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { Account, Accounts, TierChange } from "../../app/accounts/accounts.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import { MAX_MICRO_USD } from "../../domain/core/money.ts";
import { MAX_TIER } from "../../domain/accounts/caller.ts";
import { AccountEntity } from "../database/entities/accounts.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { unknownAccount } from "./account-search.ts";

/** The API name of the adjustment's amount. */
const AMOUNT = "amount_usdc_microusd";

/** Columns that change without a ledger transfer. */
type Change = Partial<TierRow & { operator: boolean; blockedReason: string | null }>;

/** A stored tier; null means the limits of the named tier. */
interface TierRow {
  tier: string;
  ratePerMinute: number | null;
  burst: number | null;
  accountRatePerMinute: number | null;
  accountBurst: number | null;
}

/**
 * Account administration. Database triggers notify every instance's key cache of changed tiers, roles and
 * blocks.
 */
export class PostgresAccounts implements Omit<Accounts, "get" | "list"> {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #read: Accounts["get"];
  readonly #cell: number;

  constructor(orm: MikroORM, clock: Clock, random: Random, read: Accounts["get"], cell: number) {
    this.#orm = orm;
    this.#read = read;
    this.#clock = clock;
    this.#random = random;
    this.#cell = cell;
  }

  async create(wallet: string): Promise<Account> {
    if (!parseAddress(wallet)) throw invalidField("wallet", "is not a Solana address (base58, 32 bytes)");
    const em = this.#orm.em.fork();
    const id = uuidFromId("acct", newId("acct", this.#clock, this.#random, this.#cell));
    await em.upsert(
      AccountEntity,
      { id, wallet },
      { onConflictFields: ["wallet"], onConflictAction: "ignore" },
    );
    em.clear();
    const created = await em.findOneOrFail(AccountEntity, { wallet });
    return this.#read(idFromUuid("acct", created.id));
  }

  async adjust(adjustment: Parameters<Accounts["adjust"]>[0]): Promise<Account> {
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
        throw unknownAccount();
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
        return this.#read(accountId);
    }
  }

  async setTier(accountId: string, change: TierChange): Promise<Account> {
    const { tier, ratePerMinute, burst, accountRatePerMinute, accountBurst } = change;
    const limits = [
      { field: "rate_per_minute", value: ratePerMinute, max: MAX_TIER.ratePerMinute },
      { field: "burst", value: burst, max: MAX_TIER.burst },
      { field: "account_rate_per_minute", value: accountRatePerMinute, max: MAX_TIER.ratePerMinute },
      { field: "account_burst", value: accountBurst, max: MAX_TIER.burst },
    ];
    for (const { field, max, value = 0 } of limits) {
      if (value < 0 || value > max) throw invalidField(field, `must be 0 to ${max}`);
    }
    if (tier === undefined && limits.every(({ value }) => value === undefined))
      throw invalidField("tier", "must name what to change");
    const changes: Change = {
      ...(tier !== undefined && { tier }),
      ...(ratePerMinute !== undefined && { ratePerMinute: ratePerMinute || null }),
      ...(burst !== undefined && { burst: burst || null }),
      ...(accountRatePerMinute !== undefined && { accountRatePerMinute: accountRatePerMinute || null }),
      ...(accountBurst !== undefined && { accountBurst: accountBurst || null }),
    };
    return this.#change(accountId, changes).catch((error: unknown) => {
      if (!(error instanceof ForeignKeyConstraintViolationException)) throw error;
      throw invalidField("tier", `${tier} is not a tier of the configuration in force`);
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
    if (changed === 0) throw unknownAccount();
    return this.#read(accountId);
  }
}

function accountUuid(accountId: string): string {
  const uuid = uuidOf("acct", accountId);
  if (uuid === undefined) throw unknownAccount();
  return uuid;
}
