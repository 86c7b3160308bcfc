import type { Pool } from "pg";
import type {
  FailedPayment,
  FailedPaymentKind,
  CallMinute,
  OperationsQueries,
} from "../../app/operations/operations-queries.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { Clock } from "../../domain/core/clock.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { keyedPageOf, readCursor } from "../database/pages.ts";
import { referenceText, idFromUuid } from "../database/row-mapping.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { queryWithRetry } from "../database/retry.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";

interface FailedRow {
  network: string;
  reference: Buffer;
  kind: FailedPaymentKind;
  account_id: string | null;
  quote_id: string | null;
  amount: bigint | null;
  block_time: Date | null;
  quote_paid: boolean;
  reason: string | null;
  at: Date;
  micros: bigint;
}

interface MinuteRow {
  minute: Date;
  completed: number;
  failed: number;
  charged: bigint;
}

const [MINUTE_MS, MINUTES] = [60_000, 60];

/** Tolerated difference between instance clocks (run identifiers) and the database clock, ms. */
const DRIFT_MS = 300_000;

/** Transfers summed per query, and maximum queries per request. */
const [TRANSFERS_PER_PASS, MAX_PASSES] = [200_000, 5];

/** Reads every account row: tens of milliseconds per 100,000. */
const FIGURES = `
  select (select count(*) from run where status = 'active') as active_runs,
         ((select coalesce(sum(available), 0) from account) + (
           select coalesce(sum(price), 0) from run where status = 'active'))::bigint as liabilities`;

/**
 * Runs and receipts with identifiers from $1 on, created since $2. UUIDv7, so primary keys are in time order.
 */
export const CALLS_BY_MINUTE = `
  select minute, sum(completed)::integer as completed, sum(failed)::integer as failed,
    sum(charged)::bigint as charged
  from (
    select date_trunc('minute', created_at) as minute, count(*)
      filter (where status = 'completed') as completed,
           count(*) filter (where status in ('failed', 'cancelled')) as failed, 0 as charged
    from run where id >= $1 and created_at >= $2 group by 1
    union all
    select date_trunc('minute', created_at), 0, 0, sum(debited) from receipt where id >= $1
      and created_at >= $2 group by 1
  ) parts group by minute`;

/**
 * Failed payments before timestamp $1 (microseconds) and signature $2; at most $3. A wallet that paid without
 * an API key may have a relay before it has an account.
 */
export const FAILED_PAYMENTS = `
  select *, (extract(epoch from at) * 1000000)::bigint as micros from (
    (select network, reference, case when reversed then 'reversed'
      else 'unused' end as kind, coalesce(assigned_to, account_id) as account_id,
            quote_id, amount, block_time, created_at as at, null as reason,
            exists (select from payment paid where paid.quote_id = payment.quote_id and paid.settled
              and (paid.network, paid.reference) <> (payment.network, payment.reference)) as quote_paid
     from payment
     where (reversed or (not settled and starts_with(quote_id, 'qt_'))) and (reversed
       or created_at < now() - interval '1 minute')
       and (created_at, reference) < ('epoch'::timestamptz + $1 * interval '1 microsecond', $2)
     order by created_at desc, reference desc limit $3)
    union all
    (select '${SOLANA}', tx_signature, 'relay',
      (select id from account where account.id = relay.account_id), quote_id, null, null, moved_at, reason,
      false
     from relay
     where state = 'failed' and (moved_at, tx_signature) < ('epoch'::timestamptz + $1 * interval
       '1 microsecond', $2)
     order by moved_at desc, tx_signature desc limit $3)
  ) failed order by at desc, reference desc limit $3`;

/** Hex digits of the time in a cursor. */
const TIME_DIGITS = 13;

/** Operator figures on PostgreSQL. */
export class PostgresOperations implements OperationsQueries {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(pool: Pool, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
  }

  async figures(): Promise<{ activeRuns: number; liabilities: MicroUsd }> {
    const [row] = await this.#query<{ active_runs: bigint; liabilities: bigint }>(
      "operations-figures",
      FIGURES,
      [],
    );
    return { activeRuns: Number(row?.active_runs ?? 0n), liabilities: row?.liabilities ?? 0n };
  }

  async minutes(): Promise<CallMinute[]> {
    const first = (Math.floor(this.#clock.now() / MINUTE_MS) - MINUTES + 1) * MINUTE_MS;
    const firstId = Math.max(0, first - DRIFT_MS)
      .toString(16)
      .padStart(12, "0")
      .padEnd(32, "0");
    const values = [firstId, new Date(first)];
    const rows = await this.#query<MinuteRow>("operations-minutes", CALLS_BY_MINUTE, values);
    const byStart = new Map(rows.map((row) => [row.minute.getTime(), row]));
    return Array.from({ length: MINUTES }, (_, index) => {
      const start = first + index * MINUTE_MS;
      const { completed = 0, failed = 0, charged = 0n } = byStart.get(start) ?? {};
      return { start: new Date(start), completed, failed, charged };
    });
  }

  async revenue(): Promise<MicroUsd | undefined> {
    const text = "select amount, complete from operations_revenue($1)";
    for (let round = 0; round < MAX_PASSES; round += 1) {
      const [row] = await this.#query<{ amount: bigint; complete: boolean }>("operations-revenue", text, [
        TRANSFERS_PER_PASS,
      ]);
      if (row?.complete) return row.amount;
    }
    return undefined;
  }

  async failedPayments(query: PageRequest): Promise<Page<FailedPayment>> {
    const after = readCursor("failed", query.cursor);
    const values = [
      BigInt(`0x${after.slice(0, TIME_DIGITS)}`),
      Buffer.from(after.slice(TIME_DIGITS), "hex"),
      query.limit + 1,
    ];
    const rows = await this.#query<FailedRow>("operations-failed-payments", FAILED_PAYMENTS, values);
    return keyedPageOf("failed", query.limit, rows, toFailedPayment, cursorKey);
  }

  #query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return queryWithRetry(this.#pool, { name, text, values });
  }
}

function cursorKey({ micros, reference }: FailedRow): string {
  return micros.toString(16).padStart(TIME_DIGITS, "0") + reference.toString("hex");
}

function toFailedPayment(row: FailedRow): FailedPayment {
  return {
    txSignature: referenceText(row),
    kind: row.kind,
    accountId: customerOf(row.account_id),
    quoteId: row.quote_id ?? undefined,
    amount: row.amount ?? undefined,
    blockTime: row.block_time ?? undefined,
    quotePaid: row.quote_paid,
    relayReason: row.reason ?? undefined,
    at: row.at,
  };
}

function customerOf(uuid: string | null): string | undefined {
  const none = uuid === null || uuid === SYSTEM_ACCOUNTS.suspense || uuid === SYSTEM_ACCOUNTS.operator;
  return none ? undefined : idFromUuid("acct", uuid);
}
