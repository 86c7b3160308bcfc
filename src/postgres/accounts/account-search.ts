import type { Pool, QueryConfig } from "pg";
import type { Account, Accounts, WalletAccounts } from "../../app/accounts/accounts.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { uuidOf, newId } from "../../domain/core/ids.ts";
import type { Page } from "../../domain/core/page.ts";
import { KEY_PREFIX, SHOWN_LENGTH } from "../../domain/accounts/api-key.ts";
import { pageOf, readCursor } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { type Caller, walletCaller } from "../../domain/accounts/caller.ts";
import type { Parts } from "../database/parts.ts";
import { rateLimitsOf, type LimitsRow, requestLogOf, type RequestLogRow } from "./key-rows.ts";

interface AccountRow extends LimitsRow {
  id: string;
  wallet: string;
  available: bigint;
  tier: string;
  operator: boolean;
  blocked_reason: string | null;
  created_at: Date;
}

const COLUMNS = `
  select id, wallet, available, tier, rate_per_minute, burst, account_rate_per_minute, account_burst,
    operator, blocked_reason, created_at
  from account_limits account`;
/** Accounts before account $1, at most $2. */
const SELECT = `${COLUMNS} where id < $1`;
const NEWEST_FIRST = "order by id desc limit $2";

/** Sorts after every text with the given prefix, byte by byte: no character is greater. */
const AFTER = "\u{10ffff}";

const HEX = /^[0-9a-f]{0,32}$/;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/;

/**
 * Query for one page. Ranges instead of patterns: no character is special, and every search uses an index.
 * @param after hex digits of the last account of the previous page
 * @returns undefined when no identifier can have this prefix
 */
export function accountsPage(query: string, after: string, limit: number): QueryConfig | undefined {
  const page = [after, limit];
  if (query === "") return { text: `${SELECT} ${NEWEST_FIRST}`, values: page };
  const [condition, range] = conditionOf(query);
  return range && { text: `${SELECT} and ${condition} ${NEWEST_FIRST}`, values: [...page, ...range] };
}

/** Returns the condition of a search, and its range as $3 and $4. */
function conditionOf(query: string): [condition: string, range: [string, string] | undefined] {
  if (query.startsWith("acct_")) return ["id between $3 and $4", uuidRange(query.slice("acct_".length))];
  if (query.startsWith("key_"))
    return [`exists (${KEYS} id between $3 and $4)`, uuidRange(query.slice("key_".length))];
  if (query.startsWith(KEY_PREFIX))
    return [`exists (${KEYS} prefix ~>=~ $3 and prefix ~<~ $4)`, textRange(query.slice(0, SHOWN_LENGTH))];
  return ["wallet ~>=~ $3 and wallet ~<~ $4", textRange(query)];
}

const KEYS = "select from api_key where account_id = account.id and";

/** Reads accounts; searches them by prefix, newest first (identifiers are UUIDv7). */
export class AccountSearch implements Pick<Accounts, "get" | "list"> {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async get(accountId: string): Promise<Account> {
    const id = uuidOf("acct", accountId);
    const text = `${COLUMNS} where id = $1`;
    const [row] =
      id === undefined ? [] : await queryWithRetry<AccountRow>(this.#pool, { text, values: [id] });
    if (row) return toAccount(row);
    throw unknownAccount();
  }

  async list({ query, limit, cursor }: Parameters<Accounts["list"]>[0]): Promise<Page<Account>> {
    // Unnamed, so planned on each call: the prefix's frequency decides which index is better.
    const page = accountsPage(query, readCursor("accounts", cursor), limit + 1);
    const rows = page === undefined ? [] : await queryWithRetry<AccountRow>(this.#pool, page);
    return pageOf("accounts", limit, rows, toAccount);
  }
}

export function unknownAccount(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such account");
}

/** First and last UUID with these leading hex digits; undefined when the input is not hex. */
function uuidRange(digits: string): [string, string] | undefined {
  return HEX.test(digits) ? [digits.padEnd(32, "0"), digits.padEnd(32, "f")] : undefined;
}

/** Half-open text range of a prefix; undefined when the prefix is not valid base58. */
function textRange(prefix: string): [string, string] | undefined {
  const base58 = prefix.startsWith(KEY_PREFIX) ? prefix.slice(KEY_PREFIX.length) : prefix;
  return base58 === "" || BASE58.test(base58) ? [prefix, prefix + AFTER] : undefined;
}

function toAccount(row: AccountRow): Account {
  return {
    accountId: idFromUuid("acct", row.id),
    wallet: row.wallet,
    balance: row.available,
    tierName: row.tier,
    ...rateLimitsOf(row),
    operator: row.operator,
    blockedReason: row.blocked_reason ?? undefined,
    createdAt: row.created_at,
  };
}

interface WalletAccountsOptions extends Pick<Parts, "pool" | "clock" | "random"> {
  cell?: number;
}

interface WalletRow extends LimitsRow, RequestLogRow {
  id: string;
  blocked_reason: string | null;
}

export class PostgresWalletAccounts implements WalletAccounts {
  readonly #options: WalletAccountsOptions;

  constructor(options: WalletAccountsOptions) {
    this.#options = options;
  }

  async find(wallet: string): Promise<Caller | undefined> {
    const [row] = await queryWithRetry<WalletRow>(this.#options.pool, {
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

function callerOf(wallet: string, row: WalletRow): Caller {
  return walletCaller(wallet, {
    accountId: idFromUuid("acct", row.id),
    ...rateLimitsOf(row),
    blockedReason: row.blocked_reason ?? undefined,
    requestLog: requestLogOf(row),
  });
}
