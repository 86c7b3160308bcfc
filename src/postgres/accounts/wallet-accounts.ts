import type { Pool } from "pg";
import type { WalletAccounts } from "../../app/accounts/wallet-accounts.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import { accountTierOf, DEFAULT_TIER } from "../../domain/accounts/rate-limit.ts";
import { walletCaller } from "../../domain/accounts/wallet-caller.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { newId } from "../../domain/core/ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";

export interface WalletAccountsOptions {
  pool: Pool;
  clock: Clock;
  random: Random;
}

interface AccountRow {
  id: string;
  rate_per_minute: number;
  burst: number;
  account_rate_per_minute: number | null;
  account_burst: number | null;
  blocked_reason: string | null;
}

/** Accounts by wallet on PostgreSQL. */
export class PostgresWalletAccounts implements WalletAccounts {
  readonly #options: WalletAccountsOptions;

  constructor(options: WalletAccountsOptions) {
    this.#options = options;
  }

  async find(wallet: string): Promise<Caller | undefined> {
    const [row] = await queryWithRetry<AccountRow>(this.#options.pool, {
      name: "wallet-accounts-find",
      text: `select id, rate_per_minute, burst, account_rate_per_minute, account_burst, blocked_reason
             from account where wallet = $1`,
      values: [wallet],
    });
    return row && callerOf(wallet, row);
  }

  async open(wallet: string): Promise<Caller> {
    const { pool, clock, random } = this.#options;
    const { ratePerMinute, burst } = DEFAULT_TIER;
    await queryWithRetry(pool, {
      name: "wallet-accounts-open",
      text: `insert into account (id, wallet, rate_per_minute, burst) values ($1, $2, $3, $4)
             on conflict (wallet) do nothing`,
      values: [uuidFromId("acct", newId("acct", clock, random)), wallet, ratePerMinute, burst],
    });
    const caller = await this.find(wallet);
    if (!caller) throw new Error("the new account was not found");
    return caller;
  }
}

function callerOf(wallet: string, row: AccountRow): Caller {
  const tier = { ratePerMinute: row.rate_per_minute, burst: row.burst };
  return walletCaller(wallet, {
    accountId: idFromUuid("acct", row.id),
    tier,
    accountTier: accountTierOf(tier, {
      ratePerMinute: row.account_rate_per_minute,
      burst: row.account_burst,
    }),
    blockedReason: row.blocked_reason ?? undefined,
  });
}
