import { base58 } from "@scure/base";
import type {
  AttributedMovement,
  RecordResult,
  TreasuryLedger,
  WatchState,
  UnfinalizedPayment,
} from "../../app/treasury/treasury-ledger.ts";
import { parseAddress } from "../../domain/core/base58.ts";
import { SOLANA, type PaymentId } from "../../domain/payments/payment-id.ts";
import type { MicroUsd } from "../../domain/core/money.ts";
import { RETRY_MS, queryWithRetry, withRetry } from "../database/retry.ts";
import {
  referenceFrom,
  referenceText,
  type PaymentColumns,
  idFromUuid,
  signatureFrom,
  uuidFromId,
} from "../database/row-mapping.ts";
import { SYSTEM_ACCOUNTS } from "../database/system-accounts.ts";
import type { Parts } from "../database/parts.ts";

export type TreasuryLedgerOptions = Pick<Parts, "pool" | "instanceId">;

interface ReversedRow {
  account_id: string;
  amount: bigint;
  balance: bigint;
}

/** Of network $1, oldest first; $2: minimum age since credit, ms; $3: limit. */
export const UNFINALIZED = `
  select network, reference, slot, amount from payment
  where network = $1 and not finalized and not reversed
    and created_at <= now() - $2 * interval '1 millisecond'
  order by looked_at limit $3`;

/** Transactions $2 of token account $1 without a movement, in their order. */
export const UNRECORDED = `
  select asked.tx_signature, payment.amount as credited
  from unnest($2::bytea[]) with ordinality asked (tx_signature, n)
  left join payment on payment.network = '${SOLANA}' and payment.reference = asked.tx_signature
  where not exists (select from treasury_movement moved where moved.token_account = $1
    and moved.tx_signature = asked.tx_signature)
  order by asked.n`;

/** Open suspense, from the index alone: every instance polls it. */
export const SUSPENDED = `
  select count(*) as count, coalesce(sum(amount), 0)::bigint as amount from payment
  where account_id = '${SYSTEM_ACCOUNTS.suspense}' and not reversed and assigned_to is null`;

/**
 * The treasury's part of the ledger on PostgreSQL. The SQL functions `treasury_*` hold the rules and are
 * idempotent.
 */
export class PostgresTreasuryLedger implements TreasuryLedger {
  readonly #options: TreasuryLedgerOptions;

  constructor(options: TreasuryLedgerOptions) {
    this.#options = options;
  }

  async acquireLeadership(leaseMs: number): Promise<boolean> {
    const text = "select treasury_lead($1, $2 * interval '1 millisecond') as leads";
    // Retries briefly, as the next heartbeat comes soon: an outage then fails with its own error, not with
    // the job's timeout.
    const values = [this.#options.instanceId, leaseMs];
    const rows = await this.#query<{ leads: boolean }>("treasury-lead", text, values, leaseMs / 9);
    return rows[0]?.leads === true;
  }

  async releaseLeadership(): Promise<void> {
    await this.#query("treasury-resign", "select treasury_resign($1)", [this.#options.instanceId]);
  }

  /** The age of the first sealing key is the installation's; watches store it in case that key is deleted. */
  async installedAt(): Promise<Date> {
    const text = `select least((select min(installed_at) from treasury_watch), (select min(created_at)
        from sealing_key), now()) as installed_at`;
    const rows = await this.#query<{ installed_at: Date }>("treasury-installed", text, []);
    if (!rows[0]) throw new Error("treasury_watch query returned no row");
    return rows[0].installed_at;
  }

  async watch(tokenAccount: string): Promise<WatchState | undefined> {
    const rows = await this.#query<WatchState>(
      "treasury-watch",
      `select slot, looked_at as "checkedAt", opening_amount as opening, expected from treasury_watch
        where token_account = $1`,
      [addressFrom(tokenAccount)],
    );
    return rows[0];
  }

  async startWatch(tokenAccount: string, opening: { amount: MicroUsd; slot: bigint }): Promise<void> {
    const values = [addressFrom(tokenAccount), opening.amount, opening.slot];
    await this.#query("treasury-start-watch", "select treasury_start_watch($1, $2, $3)", values);
  }

  async unrecorded(
    tokenAccount: string,
    txSignatures: readonly string[],
  ): Promise<{ txSignature: string; credited: MicroUsd | undefined }[]> {
    const rows = await this.#query<{ tx_signature: Buffer; credited: bigint | null }>(
      "treasury-unrecorded",
      UNRECORDED,
      [addressFrom(tokenAccount), txSignatures.map(signatureFrom)],
    );
    return rows.map(({ tx_signature, credited }) => ({
      txSignature: base58.encode(tx_signature),
      credited: credited ?? undefined,
    }));
  }

  async record(tokenAccount: string, movement: AttributedMovement): Promise<RecordResult> {
    const { attribution } = movement;
    const rows = await this.#query<{ outcome: RecordResult }>(
      "treasury-record",
      "select treasury_record($1, $2, $3, $4, $5, $6, $7, $8, $9) as outcome",
      [
        addressFrom(tokenAccount),
        signatureFrom(movement.txSignature),
        movement.slot,
        movement.blockTime,
        movement.change,
        attribution && uuidFromId("acct", attribution.accountId),
        attribution?.quoteId,
        // PostgreSQL text excludes NUL and lone surrogates.
        movement.memos?.replaceAll("\0", "").toWellFormed(),
        movement.payer,
      ],
    );
    if (!rows[0]) throw new Error("treasury_record returned no outcome");
    return rows[0].outcome;
  }

  async advanceWatch(tokenAccount: string, slot: bigint, whole = true): Promise<void> {
    const values = [addressFrom(tokenAccount), slot, whole];
    await this.#query("treasury-advance-watch", "select treasury_advance_watch($1, $2, $3)", values);
  }

  async unfinalized(query: Parameters<TreasuryLedger["unfinalized"]>[0]): Promise<UnfinalizedPayment[]> {
    const rows = await this.#query<PaymentColumns & { slot: bigint; amount: bigint }>(
      "treasury-unfinalized",
      UNFINALIZED,
      [query.network, query.minAgeMs, query.limit],
    );
    return rows.map(({ slot, amount, ...payment }) => ({ reference: referenceText(payment), slot, amount }));
  }

  async finalize(network: string, references: readonly string[]): Promise<number> {
    const values = [network, storedReferences(network, references)];
    const rows = await this.#query<{ count: bigint }>(
      "treasury-finalize",
      "select treasury_finalize($1, $2) as count",
      values,
    );
    return Number(rows[0]?.count ?? 0n);
  }

  async postpone(network: string, references: readonly string[]): Promise<void> {
    const values = [network, storedReferences(network, references)];
    await this.#query("treasury-postpone", "select treasury_postpone($1, $2)", values);
  }

  async reverse(
    payment: PaymentId,
  ): Promise<{ accountId: string; amount: MicroUsd; balance: MicroUsd } | undefined> {
    const text = "select account_id, amount, balance from treasury_reverse($1, $2, $3)";
    let again = false;
    const { rows } = await withRetry(RETRY_MS, () => {
      const values = [payment.network, referenceFrom(payment), again];
      again = true;
      return this.#options.pool.query<ReversedRow>({ name: "treasury-reverse", text, values });
    });
    const [row] = rows;
    return row && { accountId: idFromUuid("acct", row.account_id), amount: row.amount, balance: row.balance };
  }

  async suspended(): Promise<{ count: number; amount: MicroUsd }> {
    const rows = await this.#query<{ count: bigint; amount: bigint }>("treasury-suspended", SUSPENDED, []);
    return { count: Number(rows[0]?.count ?? 0n), amount: rows[0]?.amount ?? 0n };
  }

  #query<Row extends object>(name: string, text: string, values: unknown[], forMs?: number): Promise<Row[]> {
    return queryWithRetry(this.#options.pool, { name, text, values }, forMs);
  }
}

function storedReferences(network: string, references: readonly string[]): Buffer[] {
  return references.map((reference) => referenceFrom({ network, reference }));
}

/** The 32 bytes of a validated address. @throws Error when invalid */
function addressFrom(address: string): Buffer {
  const bytes = parseAddress(address);
  if (!bytes) throw new Error("not an address");
  return Buffer.from(bytes);
}
