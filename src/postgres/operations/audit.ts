import type { Pool, PoolClient } from "pg";
import type { AuditFinding, Audit, Seal } from "../../app/operations/audit.ts";
import type { AuditCheck } from "../database/audit-check.ts";
import { isReadOnly } from "../database/database-errors.ts";
import { longQuery } from "../database/pool.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { onSnapshot, withAuditPool } from "./audit-snapshot.ts";
import { CHECKS } from "./audit-checks.ts";
import { SINCE_SEAL, WHOLE } from "./audit-sources.ts";
import { contentOf, lastSeal, type SealContent, addSeal, settledTime } from "./seals.ts";

interface AuditOptions {
  readonly signal?: AbortSignal | undefined;
  readonly whole?: boolean | undefined;
  /** End of what can be sealed if the audit finds no violation (seals.ts). */
  readonly upTo?: string | undefined;
}

interface Audited {
  readonly findings: AuditFinding[];
  /** Whether all history was read. */
  readonly whole: boolean;
  /** What to seal; undefined after a violation and without `upTo`. */
  readonly content: SealContent | undefined;
}

/**
 * Checks the ledger invariants on one snapshot, without locks, on what changed since the last seal; without a
 * seal on all history.
 * @throws the signal's reason when aborted, after cancelling the database query
 */
export function auditSince(pool: Pool, options: AuditOptions): Promise<Audited> {
  return onSnapshot(pool, options.signal, (client) => audited(client, options));
}

/** {@link auditSince} in a transaction that is open. */
export async function audited(
  client: PoolClient,
  { signal, whole = false, upTo }: AuditOptions,
): Promise<Audited> {
  const seal = await lastSeal(client);
  const all = whole || seal === undefined;
  const findings = all
    ? await wholeFindings(client, signal)
    : await findingsSince(client, [seal.upTo, seal.firstRun]);
  const clean = findings.every(({ violations }) => violations === 0n);
  const content = clean && upTo !== undefined ? await contentOf(client, seal, upTo) : undefined;
  return { findings, content, whole: all };
}

async function wholeFindings(client: PoolClient, signal: AbortSignal | undefined): Promise<AuditFinding[]> {
  const found: AuditFinding[] = [];
  for (const check of CHECKS) {
    signal?.throwIfAborted();
    found.push(...(await runCheck(client, check, [1, null])));
  }
  return found;
}

/** Runs a check on all history. @param seals those that are compared; null: and all later ones */
export function runCheck(
  client: PoolClient,
  check: AuditCheck,
  seals: readonly [first: number, last: number | null],
): Promise<AuditFinding[]> {
  return findings(client, wholeText(check), seals);
}

/** One statement, so that each source is read once. Sources find old rows by their keys. */
async function findingsSince(client: PoolClient, values: unknown[]): Promise<AuditFinding[]> {
  await client.query("set local enable_seqscan = off");
  return findings(client, sinceSealText(CHECKS), values);
}

async function findings(
  client: PoolClient,
  text: string,
  values: readonly unknown[],
): Promise<AuditFinding[]> {
  const { rows } = await longQuery<Omit<AuditFinding, "description">>(client, text, values);
  const descriptions = new Map(CHECKS.map(({ name, description }) => [name, description]));
  return rows.map((row) => ({ ...row, description: descriptions.get(row.name) ?? "" }));
}

/** SQL that runs a check on all history, and on the seals $1 to $2. */
export function wholeText(check: AuditCheck): string {
  return `${WHOLE} ${countOf(check)}`;
}

/** SQL that runs checks since the seal of time $1, whose first run was $2. */
export function sinceSealText(checks: readonly AuditCheck[]): string {
  const parts = checks.filter(({ wholeOnly }) => !wholeOnly).map((check) => countOf(check));
  return `${SINCE_SEAL} ${parts.join("\nunion all ")}`;
}

function countOf({ name, sql }: AuditCheck): string {
  return `select '${name}' as name, count(*) as checked, count(*) filter (where wrong) as violations
    from (${sql}) looked`;
}

const STORE = `
  insert into audit_progress as known (name, at, seal, violations)
  select name, now(), $4, violations from unnest($1::text[], $2::bigint[]) found (name, violations)
  on conflict (name) do update set at = excluded.at, seal = excluded.seal,
    violations = excluded.violations + case when $3 > 0 then known.violations else 0 end`;

/**
 * Stores what checks found in all history.
 * @param after the seal before the first that was compared
 * @param seal the last that was; 0: all
 */
export async function storeFindings(
  primary: Pool,
  found: readonly AuditFinding[],
  [after, seal]: readonly [after: number, seal: number],
): Promise<void> {
  const values = [found.map(({ name }) => name), found.map(({ violations }) => violations), after, seal];
  await primary.query(STORE, values);
}

/**
 * Audits what changed since the last seal, or all history, and seals it if there is no violation. It throws
 * ToolgateError UNAVAILABLE when the database is unreachable or a table stays locked.
 * @param reads says where to read at the time of an audit: from a standby, perhaps
 * @param logSeal receives the last seal after each audit
 */
export function sealingAudit(
  url: string,
  reads: { readonly url: string },
  logSeal?: (seal: Seal) => Promise<void>,
): Audit {
  const read = (pool: Pool, options: AuditOptions) => withRetry(RETRY_MS, () => auditSince(pool, options));
  return (signal, { whole } = {}) =>
    withAuditPool(url, async (primary) => {
      const upTo = await withRetry(RETRY_MS, () => settledTime(primary));
      const options = { signal, whole, upTo };
      const audit = await (reads.url === url
        ? read(primary, options)
        : withAuditPool(reads.url, (pool) => read(pool, options)));
      try {
        if (audit.whole) await storeFindings(primary, audit.findings, [0, 0]);
        if (audit.content) await addSeal(primary, audit.content);
      } catch (error) {
        if (!isReadOnly(error)) throw error;
      }
      const seal = logSeal && (await lastSeal(primary));
      if (seal) await logSeal(seal);
      return audit.findings;
    });
}
