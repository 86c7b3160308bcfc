import type { Pool } from "pg";
import type { UsedNonces } from "../../app/accounts/wallet-sign-in.ts";

/** Used nonces on PostgreSQL. */
export class PostgresUsedNonces implements UsedNonces {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Not retried after a lost response: the first try may have inserted the row. */
  async add(nonce: string, expiresAt: Date): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: "used-nonces-add",
      text: "insert into used_nonce (nonce, expires_at) values ($1, $2) on conflict (nonce) do nothing",
      values: [nonce, expiresAt],
    });
    return rowCount === 1;
  }
}
