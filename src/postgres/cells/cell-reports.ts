import { base58 } from "@scure/base";
import type { Pool } from "pg";
import type { CellFigures, CellReports, MoveSide } from "../../app/cells/fleet.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";

/** Sums of accounts: sealed ones and the entries since, as the audit adds them up. */
const FIGURES = `
  with total as (
    select holder, sum(amount) as amount from (
      select kind, holder, amount from audit_sum
      union all select * from audit_sums((select max(up_to) from audit_seal), null)
    ) part where kind = 'account' group by holder
  )
  select (select max(version) from schema_version) as schema,
    current_setting('server_version') as postgres,
    (select count(distinct application_name)::integer from pg_stat_activity
      where datname = current_database() and application_name ~ '^toolgate [0-9a-f-]{36}$') as gateways,
    (select count(*)::integer from pg_stat_replication) as standbys,
    (select count(*)::integer from pg_stat_replication where sync_state in ('sync', 'quorum'))
      as "synchronousStandbys",
    (select (extract(epoch from max(replay_lag)) * 1000)::float8 from pg_stat_replication) as "lagMs",
    (select count(*)::integer from account where moved_to is null) as accounts,
    (select count(*)::integer from account where moved_to is not null) as moved,
    (select count(*)::integer from account
      where moved_to is not null and (available <> 0 or exists (
        select from account_move move where move.account_id = account.id and move.other_account is null)))
      as unfinished,
    (select coalesce(sum(total.amount), 0)::bigint from total join account on uuid_send(account.id) = holder)
      as liabilities,
    (select coalesce(sum(expected), 0)::bigint from treasury_watch) as expected,
    (select coalesce(sum(amount), 0)::bigint from total where holder = uuid_send($1::uuid)) as clearing`;

/** Reads of one cell on PostgreSQL. */
export class PostgresCellReports implements CellReports {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async figures(): Promise<CellFigures> {
    const [row] = await queryWithRetry<Omit<CellFigures, "lagMs"> & { lagMs: number | null }>(this.#pool, {
      text: FIGURES,
      values: [SYSTEM_ACCOUNTS.clearing],
    });
    if (!row) throw new Error("the figures were not found");
    return { ...row, lagMs: row.lagMs ?? undefined };
  }

  arrivals(): Promise<MoveSide[]> {
    return this.#sides("in");
  }

  departures(): Promise<MoveSide[]> {
    return this.#sides("out");
  }

  async returned(): Promise<string[]> {
    const rows = await queryWithRetry<{ id: string }>(this.#pool, {
      text: `select id from account where moved_to is null
               and id in (select account_id from account_move union select other_account from account_move)`,
    });
    return rows.map(({ id }) => idFromUuid("acct", id));
  }

  async treasuries(): Promise<{ tokenAccount: string; expected: bigint }[]> {
    const rows = await queryWithRetry<{ token_account: Buffer; expected: bigint }>(this.#pool, {
      text: "select token_account, expected from treasury_watch",
    });
    return rows.map(({ token_account, expected }) => ({
      tokenAccount: base58.encode(token_account),
      expected,
    }));
  }

  /** What was booked, and not only what was noted. */
  async #sides(direction: "in" | "out"): Promise<MoveSide[]> {
    const rows = await queryWithRetry<{
      id: string;
      account_id: string;
      other_cell: number;
      amount: bigint;
      moved_at: Date;
    }>(this.#pool, {
      text: `select move.id, move.account_id, move.other_cell, move.moved_at,
               coalesce(case when (entry.debit = $2) = (move.direction = 'in') then entry.amount
                 else -entry.amount end, 0) as amount
             from account_move move
             left join transfer entry on entry.kind = 'clearing' and entry.ref = uuid_send(move.id)
             where move.direction = $1`,
      values: [direction, SYSTEM_ACCOUNTS.clearing],
    });
    return rows.map((row) => ({
      reference: row.id,
      accountId: idFromUuid("acct", row.account_id),
      otherCell: row.other_cell,
      amount: row.amount,
      movedAt: row.moved_at,
    }));
  }
}
