import type { Pool } from "pg";
import type { WalletAccounts } from "../../app/accounts/wallet-accounts.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import { walletCaller } from "../../domain/accounts/wallet-caller.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { newId } from "../../domain/core/ids.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { rateLimitsOf, type LimitsRow } from "./limits-row.ts";
import { requestLogOf, type RequestLogRow } from "./request-log-row.ts";

export interface WalletAccountsOptions {
  pool: Pool;
  clock: Clock;
  random: Random;
  /** Number of the cell. */
  cell?: number;
}

interface AccountRow extends LimitsRow, RequestLogRow {
  id: string;
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
      text: `select id, rate_per_minute, burst, account_rate_per_minute, account_burst, blocked_reason,
                    request_bodies, request_hours
             from account_limits where wallet = $1`,
      values: [wallet],
    });
    return row && callerOf(wallet, row);
  }

  async open(wallet: string): Promise<Caller> {
    const { pool, clock, random, cell } = this.#options;
    await queryWithRetry(pool, {
      name: "wallet-accounts-open",
      text: `insert into account (id, wallet) values ($1, $2) on conflict (wallet) do nothing`,
      values: [uuidFromId("acct", newId("acct", clock, random, cell)), wallet],
    });
    const caller = await this.find(wallet);
    if (!caller) throw new Error("the new account was not found");
    return caller;
  }
}

function callerOf(wallet: string, row: AccountRow): Caller {
  return walletCaller(wallet, {
    accountId: idFromUuid("acct", row.id),
    ...rateLimitsOf(row),
    blockedReason: row.blocked_reason ?? undefined,
    requestLog: requestLogOf(row),
  });
}
