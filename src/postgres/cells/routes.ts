import type { Pool } from "pg";
import { queryWithRetry } from "../database/retry.ts";

/** Names of a cell that a router cannot send by themselves. */
export interface Routes {
  /** Wallets of accounts that are here, with the account's id, which begins with its time. */
  wallets(): Promise<{ readonly wallet: string; readonly id: string }[]>;
  /** SHA-256 (hex) of keys that other cells issued and that work here. */
  movedKeys(): Promise<string[]>;
}

/** Routes on PostgreSQL. */
export class PostgresRoutes implements Routes {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  wallets(): Promise<{ wallet: string; id: string }[]> {
    return queryWithRetry(this.#pool, { text: "select wallet, id from account where moved_to is null" });
  }

  async movedKeys(): Promise<string[]> {
    const rows = await queryWithRetry<{ hash: string }>(this.#pool, {
      text: `select encode(key.sha256, 'hex') as hash
             from api_key key join account on account.id = key.account_id
             where key.issued_by is not null and key.revoked_at is null and account.moved_to is null`,
    });
    return rows.map(({ hash }) => hash);
  }
}
