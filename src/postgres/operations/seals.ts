import type { Pool, PoolClient } from "pg";
import type { Seal } from "../../app/operations/audit.ts";
import { SETTLED_AFTER } from "../database/entry-ids.ts";
import type { AuditCheck } from "../database/audit-check.ts";
import { inTransaction, longQuery } from "../database/pool.ts";

/** The last seal. Times are texts: a Date has no microseconds. */
interface LastSeal extends Seal {
  /** Lowest id of a run that had not ended. */
  readonly firstRun: string | null;
}

const SEALS = `select number, up_to::text as "upTo", encode(hash, 'hex') as hash, first_run as "firstRun"
  from audit_seal`;

/** What an audit found clean and a seal stores. */
export interface SealContent {
  /** Number of the seal before; 0: none. */
  readonly previous: number;
  readonly upTo: string;
  /** Text of an array of `audit_part`. */
  readonly parts: string;
}

export async function lastSeal(client: Pool | PoolClient): Promise<LastSeal | undefined> {
  const { rows } = await client.query<LastSeal>(`${SEALS} order by number desc limit 1`);
  return rows[0];
}

/** Returns all seals, by number. */
export async function allSeals(pool: Pool | PoolClient): Promise<Seal[]> {
  return (await pool.query<LastSeal>(`${SEALS} order by number`)).rows;
}

/**
 * Returns a time of the primary before which no transaction can commit any more. Read it before the audit's
 * snapshot is taken. Sees the transactions of its own role: all that `serve` runs.
 */
export async function settledTime(primary: Pool): Promise<string> {
  const { rows } = await primary.query<{ up_to: string }>(
    `select least(now() - ${SETTLED_AFTER}, min(xact_start))::text as up_to from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid()`,
  );
  return rows[0]?.up_to ?? "epoch";
}

/** Counts and hashes what a seal up to that time would cover; undefined if that is nothing. */
export async function contentOf(
  client: PoolClient,
  seal: Pick<Seal, "number" | "upTo"> | undefined,
  upTo: string,
): Promise<SealContent | undefined> {
  const previous = seal?.number ?? 0;
  const { rows } = await longQuery<{ parts: string }>(
    client,
    `select array(select part from audit_parts($1, $2, $3) part order by name collate "C")::text as parts
     where $2 is null or $2::timestamptz < $3::timestamptz`,
    [previous + 1, seal?.upTo ?? null, upTo],
  );
  return rows[0] && { previous, upTo, ...rows[0] };
}

/**
 * Stores a seal. Returns false if another audit has sealed meanwhile, or if the entries are not those that
 * were audited; then the next audit reads them again.
 */
export function addSeal(primary: Pool, { previous, upTo, parts }: SealContent): Promise<boolean> {
  const text = "select audit_seal_add($1, $2, $3::audit_part[]) as sealed";
  const add = (client: PoolClient) => longQuery<{ sealed: boolean }>(client, text, [previous, upTo, parts]);
  const begin = "begin; set local statement_timeout = 0";
  return inTransaction(primary, async (client) => (await add(client)).rows[0]?.sealed ?? false, { begin });
}

/** Name of the check that the audit of all history does in slices. */
export const SEALS_CHECK = "seals";

/** Audit checks of the seals: what is sealed is still what an audit found clean. */
export const SEAL_CHECKS: readonly AuditCheck[] = [
  {
    name: SEALS_CHECK,
    description: "the entries of each seal are those that were sealed, unchanged",
    sql: "select wrong from sealed",
  },
  {
    name: "sealed_sums",
    description: "the sums of sealed entries are those of the entries",
    wholeOnly: true,
    sql: /* sql */ `
      select coalesce(known.amount, 0) <> coalesce(found.amount, 0) as wrong
      from audit_sum known
      full join audit_sums(null, coalesce((select max(up_to) from audit_seal), 'epoch')) found
      on found.kind = known.kind and found.holder = known.holder`,
  },
  {
    name: "archived_uses",
    description: "what accounts used in each archived month adds up to the month",
    sql: /* sql */ `
      select (month.runs, month.receipts, month.charged) is distinct from (uses.runs, uses.receipts,
        uses.charged) as wrong
      from archive_month month full join (
        select month, sum(runs) as runs, sum(receipts) as receipts, sum(charged) as charged
        from archive_use group by month
      ) uses on uses.month = month.month`,
  },
];
