import { base58 } from "@scure/base";
import type { Pool } from "pg";
import type { DepositAccounts, Deposits } from "../../app/deposits/deposits.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import type { Deposit } from "../../domain/deposits/deposit.ts";
import { NO_CELL, type Cell, reportUnknownId, uuidOf } from "../../domain/core/ids.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { pageOf, readCursor } from "../database/pages.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { inTransaction } from "../database/pool.ts";
import { RETRY_MS, queryWithRetry, withRetry } from "../database/retry.ts";
import { idFromUuid, signatureFrom, uuidFromId } from "../database/row-mapping.ts";

interface DepositRow {
  id: string;
  account_id: string;
  amount: bigint;
  reference: Buffer;
  tx_signature: Buffer | null;
  created_at: Date;
  cancelled_at: Date | null;
  credited: bigint;
  credited_at: Date | null;
  credited_by: Buffer | null;
}

/**
 * A deposit with its credit: the payments that name it, and the transfer seen for it if the operator assigned
 * that to the account.
 */
const SELECT = `
  select deposit.id, deposit.account_id, deposit.amount, deposit.reference, deposit.tx_signature,
         deposit.created_at, deposit.cancelled_at,
         coalesce(sum(paid.amount), 0)::bigint as credited, min(paid.created_at) as credited_at,
         (array_agg(paid.reference order by paid.created_at))[1] as credited_by
  from deposit left join lateral (
    select payment.reference, payment.amount, payment.created_at from payment
    where starts_with(payment.quote_id, 'dep_')
      and payment.quote_id = 'dep_' || replace(deposit.id::text, '-', '')
      and payment.account_id = deposit.account_id and not payment.reversed
    union all
    select payment.reference, payment.amount, assignment.created_at
    from payment join transfer assignment on assignment.kind = 'assignment'
      and assignment.ref = payment_ref(payment.network, payment.reference)
    where payment.network = '${SOLANA}' and payment.reference = deposit.tx_signature
      and payment.assigned_to = deposit.account_id
      and not payment.reversed
  ) paid on true`;

/** Deposit $2 of account $1. */
export const DEPOSIT = `${SELECT} where deposit.account_id = $1 and deposit.id = $2 group by deposit.id`;

/** A page of account $1 before deposit $2, at most $3. */
export const DEPOSITS_PAGE = `
  ${SELECT} where deposit.account_id = $1 and deposit.id < $2 group by deposit.id
  order by deposit.id desc limit $3`;

/** Creates deposit $1 unless account $2 has $6 unpaid deposits created since $7. */
export const BEGIN_DEPOSIT = `
  insert into deposit (id, account_id, amount, reference, created_at)
  select $1, $2, $3, $4, $5
  where (
    select count(*) from deposit waiting
    where waiting.account_id = $2 and waiting.created_at >= $7 and not exists (
      select from payment
      where starts_with(payment.quote_id, 'dep_')
        and payment.quote_id = 'dep_' || replace(waiting.id::text, '-', ''))
  ) < $6
  on conflict do nothing`;

/** Deposits on PostgreSQL. They hold no money: payments that name them carry the credit. */
export class PostgresDeposits implements Deposits, DepositAccounts {
  readonly #pool: Pool;
  readonly #cell: Cell;

  constructor(pool: Pool, cell = NO_CELL) {
    this.#pool = pool;
    this.#cell = cell;
  }

  async create(
    deposit: { depositId: string; accountId: string; amount: MicroUsd; reference: string; createdAt: Date },
    { waiting, since }: { waiting: number; since: Date },
  ): Promise<Deposit | undefined> {
    const { depositId, accountId, amount, createdAt } = deposit;
    const reference = parseAddress(deposit.reference);
    if (!reference) throw new Error("not an address");
    const [id, account] = [uuidFromId("dep", depositId), uuidFromId("acct", accountId)];
    const values = [id, account, amount, Buffer.from(reference), createdAt, waiting, since];
    await withRetry(RETRY_MS, () =>
      inTransaction(this.#pool, async (client) => {
        // The lock serializes concurrent deposits of the account, so that the limit holds.
        await client.query("select from account where id = $1 for no key update", [account]);
        await client.query({ name: "deposit-begin", text: BEGIN_DEPOSIT, values });
      }),
    );
    return this.find(accountId, depositId);
  }

  async find(accountId: string, depositId: string): Promise<Deposit | undefined> {
    const id = uuidOf("dep", depositId);
    if (id === undefined) return undefined;
    const [row] = await this.#query<DepositRow>("deposit-find", DEPOSIT, [uuidFromId("acct", accountId), id]);
    if (!row) reportUnknownId(this.#cell, "deposit", "dep", depositId);
    return row && depositOf(row);
  }

  async list(query: PageRequest & { accountId: string }): Promise<Page<Deposit>> {
    const after = readCursor("deposits", query.cursor);
    const values = [uuidFromId("acct", query.accountId), after, query.limit + 1];
    const rows = await this.#query<DepositRow>("deposit-list", DEPOSITS_PAGE, values);
    return pageOf("deposits", query.limit, rows, depositOf);
  }

  async recordTransaction(depositId: string, txSignature: string): Promise<void> {
    const text = "update deposit set tx_signature = $2 where id = $1 and tx_signature is distinct from $2";
    await this.#query("deposit-seen", text, [uuidFromId("dep", depositId), signatureFrom(txSignature)]);
  }

  async cancel(depositId: string, at: Date): Promise<void> {
    const text = "update deposit set cancelled_at = $2 where id = $1 and cancelled_at is null";
    await this.#query("deposit-cancel", text, [uuidFromId("dep", depositId), at]);
  }

  async accountOf(depositId: string): Promise<string | undefined> {
    const id = uuidOf("dep", depositId);
    if (id === undefined) return undefined;
    const text = "select account_id from deposit where id = $1";
    const [row] = await this.#query<{ account_id: string }>("deposit-owner", text, [id]);
    return row && idFromUuid("acct", row.account_id);
  }

  #query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return queryWithRetry(this.#pool, { name, text, values });
  }
}

function depositOf(row: DepositRow): Deposit {
  return {
    depositId: idFromUuid("dep", row.id),
    accountId: idFromUuid("acct", row.account_id),
    amount: row.amount,
    reference: base58.encode(row.reference),
    txSignature: row.tx_signature ? base58.encode(row.tx_signature) : undefined,
    createdAt: row.created_at,
    cancelledAt: row.cancelled_at ?? undefined,
    credited: row.credited,
    creditedAt: row.credited_at ?? undefined,
    creditedBy: row.credited_by ? base58.encode(row.credited_by) : undefined,
  };
}
