import type { Pool, QueryConfig } from "pg";
import type { Account, Accounts, Page } from "../app/ports.ts";
import { KEY_PREFIX, SHOWN_LENGTH } from "../domain/api-key.ts";
import { accountTierOf } from "../domain/rate-limit.ts";
import { cursorAfter, readCursor } from "./cursor.ts";
import { queryWithRetry } from "./retry.ts";
import { idFromUuid } from "./row-mapping.ts";

interface AccountRow {
  id: string;
  wallet: string;
  available: bigint;
  rate_per_minute: number;
  burst: number;
  account_rate_per_minute: number | null;
  account_burst: number | null;
  operator: boolean;
  blocked_reason: string | null;
  created_at: Date;
}

/** Before the account $1, at most $2. */
const SELECT = `
  select id, wallet, available, rate_per_minute, burst, account_rate_per_minute, account_burst, operator, blocked_reason, created_at
  from account where id < $1`;
const NEWEST_FIRST = "order by id desc limit $2";

/** What sorts after every text with a beginning, byte by byte: no character is greater. */
const AFTER = "\u{10ffff}";

const HEX = /^[0-9a-f]{0,32}$/;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/;

/**
 * The statement for one page: ranges instead of patterns, so that no character of a query means anything but itself, and every search
 * has an index.
 * @param after hex digits of the account that the page comes after
 * @returns undefined where nothing can begin like that
 */
export function accountsPage(query: string, after: string, limit: number): QueryConfig | undefined {
  const page = [after, limit];
  if (query === "") return { text: `${SELECT} ${NEWEST_FIRST}`, values: page };
  if (query.startsWith("acct_")) {
    const range = uuidRange(query.slice("acct_".length));
    return (
      range && { text: `${SELECT} and id between $3 and $4 ${NEWEST_FIRST}`, values: [...page, ...range] }
    );
  }
  if (query.startsWith("key_")) {
    const range = uuidRange(query.slice("key_".length));
    return (
      range && {
        text: `${SELECT} and exists (${KEYS} id between $3 and $4) ${NEWEST_FIRST}`,
        values: [...page, ...range],
      }
    );
  }
  if (query.startsWith(KEY_PREFIX)) {
    const range = textRange(query.slice(0, SHOWN_LENGTH));
    return (
      range && {
        text: `${SELECT} and exists (${KEYS} prefix ~>=~ $3 and prefix ~<~ $4) ${NEWEST_FIRST}`,
        values: [...page, ...range],
      }
    );
  }
  const range = textRange(query);
  return (
    range && {
      text: `${SELECT} and wallet ~>=~ $3 and wallet ~<~ $4 ${NEWEST_FIRST}`,
      values: [...page, ...range],
    }
  );
}

const KEYS = "select from api_key where account_id = account.id and";

/** Finds accounts. Identifiers are UUIDv7, so their order is the order in time. */
export class AccountSearch implements Pick<Accounts, "list"> {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async list({ query, limit, cursor }: Parameters<Accounts["list"]>[0]): Promise<Page<Account>> {
    // Without a name: planned each time, for how much begins like that decides which index is the better one.
    const page = accountsPage(query, readCursor("accounts", cursor), limit + 1);
    const rows = page === undefined ? [] : await queryWithRetry<AccountRow>(this.#pool, page);
    const shown = rows.slice(0, limit);
    const last = shown.at(-1);
    return {
      items: shown.map(accountOf),
      nextCursor: rows.length > limit && last ? cursorAfter("accounts", last.id) : undefined,
    };
  }
}

/** The first and the last UUID that begin with these hex digits; undefined when they are none. */
function uuidRange(digits: string): [string, string] | undefined {
  return HEX.test(digits) ? [digits.padEnd(32, "0"), digits.padEnd(32, "f")] : undefined;
}

/** From the beginning itself to before what comes after; undefined when neither a wallet nor a key is spelled so. */
function textRange(beginning: string): [string, string] | undefined {
  const spelled = beginning.startsWith(KEY_PREFIX) ? beginning.slice(KEY_PREFIX.length) : beginning;
  return spelled === "" || BASE58.test(spelled) ? [beginning, beginning + AFTER] : undefined;
}

function accountOf(row: AccountRow): Account {
  const tier = { ratePerMinute: row.rate_per_minute, burst: row.burst };
  return {
    accountId: idFromUuid("acct", row.id),
    wallet: row.wallet,
    balance: row.available,
    tier,
    accountTier: accountTierOf(tier, {
      ratePerMinute: row.account_rate_per_minute,
      burst: row.account_burst,
    }),
    operator: row.operator,
    blockedReason: row.blocked_reason ?? undefined,
    createdAt: row.created_at,
  };
}
