import { type Pool, type PoolClient, DatabaseError } from "pg";
import { READ_ONLY } from "../database/database-errors.ts";
import { SETTLED_AFTER } from "../database/entry-ids.ts";
import type { AuditCheck } from "../database/audit-check.ts";

const DAY_MS = 86_400_000;

/** The last seal. Times are texts: a Date has no microseconds. */
interface Seal {
  readonly number: number;
  /** Its entries are older. */
  readonly upTo: string;
  /** Lowest id of a run that had not ended. */
  readonly firstRun: string | null;
}

/** What an audit found clean and a seal stores. */
export interface SealContent {
  /** Number of the seal before; 0: none. */
  readonly previous: number;
  readonly upTo: string;
  readonly entries: bigint;
  readonly hash: Buffer;
  readonly whole: boolean;
}

export async function lastSeal(client: PoolClient): Promise<Seal | undefined> {
  const { rows } = await client.query<Seal>(
    `select number, up_to::text as "upTo", first_run as "firstRun" from audit_seal
     order by number desc limit 1`,
  );
  return rows[0];
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
  { seal, upTo, whole }: { seal: Seal | undefined; upTo: string; whole: boolean },
): Promise<SealContent | undefined> {
  const query = {
    text: `select entries, hash from audit_hash($1, $2)
      where $1 is null or $1::timestamptz < $2::timestamptz`,
    values: [seal?.upTo ?? null, upTo],
    query_timeout: DAY_MS,
  };
  const { rows } = await client.query<{ entries: bigint; hash: Buffer }>(query);
  return rows[0] && { previous: seal?.number ?? 0, upTo, whole, ...rows[0] };
}

/**
 * Stores a seal. Returns false if another audit has sealed meanwhile, if the entries are not those that were
 * audited, and on a database that is read-only; then the next audit reads them again.
 */
export async function addSeal(primary: Pool, content: SealContent): Promise<boolean> {
  const { previous, upTo, entries, hash, whole } = content;
  const client = await primary.connect();
  try {
    await client.query("begin; set local statement_timeout = 0");
    const query = {
      text: "select audit_seal_add($1, $2, $3, $4, $5) as sealed",
      values: [previous, upTo, entries, hash, whole],
      query_timeout: DAY_MS,
    };
    const { rows } = await client.query<{ sealed: boolean }>(query);
    await client.query("commit");
    return rows[0]?.sealed ?? false;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    if (error instanceof DatabaseError && error.code === READ_ONLY) return false;
    throw error;
  } finally {
    client.release();
  }
}

/** The first seal after all archived receipts: it and those before cannot be compared with all rows. */
export const ARCHIVED_SEAL = /* sql */ `
  select min(number) as number from audit_seal
  where audit_bound(up_to) > (select max(last_receipt::text)::uuid from archive_month)`;

export function wrongSeals(condition: string): string {
  return /* sql */ `
    select seal.entries <> found.entries
        or seal.hash <> sha256(coalesce(earlier.hash, ''::bytea) || found.hash)
        or seal.number > 1 and earlier.number is null as wrong
    from audit_seal seal left join audit_seal earlier on earlier.number = seal.number - 1
    cross join lateral audit_hash(earlier.up_to, seal.up_to) found
    where ${condition}`;
}

/** Compares the rest with the entries that are not archived. */
export const WRONG_REST = /* sql */ `
  select rest.number is distinct from archived.number or rest.entries <> found.entries
      or rest.hash <> found.hash as wrong
  from (${ARCHIVED_SEAL}) archived left join audit_rest rest on true
  left join audit_seal seal on seal.number = archived.number
  left join lateral audit_hash(null, seal.up_to) found on true
  where archived.number is not null`;

/** Audit checks of the seals: what is sealed is still what an audit found clean. */
export const SEAL_CHECKS: readonly AuditCheck[] = [
  {
    name: "seals",
    description: "the entries of each seal are those that were sealed, unchanged",
    wholeOnly: true,
    sql: `${wrongSeals(`seal.number > coalesce((${ARCHIVED_SEAL}), 0)`)} union all ${WRONG_REST}`,
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
