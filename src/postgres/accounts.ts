import { createHash } from "node:crypto";
import type { InferEntity } from "@mikro-orm/core";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { Account, Accounts } from "../app/ports.ts";
import { parseAddress } from "../domain/base58.ts";
import type { Clock, Random } from "../domain/clock.ts";
import { invalidField, ToolgateError } from "../domain/errors.ts";
import { newId, uuidOf } from "../domain/ids.ts";
import { MAX_MICRO_USD, type MicroUsd } from "../domain/money.ts";
import { DEFAULT_TIER, type RateTier } from "../domain/rate-limit.ts";
import { AccountEntity } from "./entities/account.ts";
import { PATIENCE_MS, retrying } from "./retry.ts";
import { idFrom, uuidFrom } from "./rows.ts";

/** What a tier may be at most: a token every microsecond, which is what buckets are counted in. */
const MAX_TIER: RateTier = { ratePerMinute: 60_000_000, burst: 10_000_000 };

/** What callers know an adjustment's amount by. */
const AMOUNT = "amount_usdc_microusd";

/** What of an account is changed without the ledger. */
type Change = Partial<RateTier & { operator: boolean; blockedReason: string | null }>;

/** The operator's account work. A change of tier, role or block reaches every instance's memory of API keys by a trigger. */
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
    const id = uuidFrom("acct", newId("acct", this.#clock, this.#random));
    await em.upsert(
      AccountEntity,
      { id, wallet, ...DEFAULT_TIER },
      { onConflictFields: ["wallet"], onConflictAction: "ignore" },
    );
    em.clear();
    return accountOf(await em.findOneOrFail(AccountEntity, { wallet }));
  }

  async get(accountId: string): Promise<Account> {
    const id = known(accountId);
    return accountOf(
      await retrying(PATIENCE_MS, () =>
        this.#orm.em.fork().findOneOrFail(AccountEntity, { id }, { failHandler: unknown }),
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
    const uuid = known(accountId);
    const key = createHash("sha256").update(`${uuid}:${idempotencyKey}`).digest();
    const text = "select ledger_adjust(?, ?, ?, ?) as outcome";
    // Known by its key, so that one whose answer is lost is told as what it was: done.
    const [row] = await retrying(PATIENCE_MS, () =>
      this.#orm.em.fork().execute<{ outcome: string }[]>(text, [uuid, amount, key, reason]),
    );
    switch (row?.outcome) {
      case "unknown":
        throw unknown();
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

  async setTier(accountId: string, tier: RateTier): Promise<Account> {
    if (tier.ratePerMinute < 1 || tier.burst < 1) throw invalidField("tier", "rate and burst must be at least 1");
    if (tier.ratePerMinute > MAX_TIER.ratePerMinute || tier.burst > MAX_TIER.burst) {
      throw invalidField("tier", `rate must be at most ${MAX_TIER.ratePerMinute} a minute, burst ${MAX_TIER.burst}`);
    }
    return this.#change(accountId, { ratePerMinute: tier.ratePerMinute, burst: tier.burst });
  }

  setOperator(accountId: string, operator: boolean): Promise<Account> {
    return this.#change(accountId, { operator });
  }

  setBlocked(accountId: string, { blocked, reason }: { blocked: boolean; reason: string }): Promise<Account> {
    // PostgreSQL's text is UTF-8 without NUL, and a lone surrogate has no UTF-8.
    return this.#change(accountId, { blockedReason: blocked ? reason.replaceAll("\0", "").toWellFormed() : null });
  }

  async #change(accountId: string, change: Change): Promise<Account> {
    const id = known(accountId);
    const changed = await retrying(PATIENCE_MS, () => this.#orm.em.fork().nativeUpdate(AccountEntity, { id }, change));
    if (changed === 0) throw unknown();
    return this.get(accountId);
  }
}

function accountOf(row: InferEntity<typeof AccountEntity>): Account {
  return {
    accountId: idFrom("acct", row.id),
    wallet: row.wallet,
    balance: row.available,
    tier: { ratePerMinute: row.ratePerMinute, burst: row.burst },
    operator: row.operator,
    blockedReason: row.blockedReason ?? undefined,
    createdAt: row.createdAt,
  };
}

function known(accountId: string): string {
  const uuid = uuidOf("acct", accountId);
  if (uuid === undefined) throw unknown();
  return uuid;
}

function unknown(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such account");
}
