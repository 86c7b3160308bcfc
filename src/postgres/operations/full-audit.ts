import type { Pool, PoolClient } from "pg";
import type { AuditFinding, FullAudit, LastFullAudit } from "../../app/operations/audit.ts";
import type { AuditCheck } from "../database/audit-check.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { CHECKS } from "./audit-checks.ts";
import { runCheck, storeFindings } from "./audit.ts";
import { onSnapshot, withAuditPool } from "./audit-snapshot.ts";
import { SEALS_CHECK } from "./seals.ts";

/** Entries that a slice compares with their seals, about. */
const SLICE = 100_000;

/** The last seal of the slice after seal $1; null: its slice is the rest. */
const NEXT_SEALS = `
  select nullif(max(number) filter (where before < ${SLICE}), max(number)) as last from (
    select number, sum(entries) over (order by number) - entries as before from (
      select seal.number, coalesce(sum(part.entries), 0) as entries
      from audit_seal seal left join audit_part part on part.number = seal.number
      where seal.number > $1 group by 1
    ) later
  ) slice`;

/** The audit of all history on PostgreSQL; each slice is a snapshot of its own. */
export class PostgresFullAudit implements FullAudit {
  readonly #pool: Pool;
  readonly #reads: { readonly url: string };

  /** @param reads says where to read at the time of a slice */
  constructor(pool: Pool, reads: { readonly url: string }) {
    [this.#pool, this.#reads] = [pool, reads];
  }

  async next(signal: AbortSignal): Promise<AuditFinding | undefined> {
    const { rows } = await this.#pool.query<{ name: string; seal: number }>(
      "select name, seal from audit_progress where at > now() - interval '7 days'",
    );
    const reached = new Map(rows.map(({ name, seal }) => [name, seal]));
    const check = CHECKS.find(({ name }) => reached.get(name) !== 0);
    if (!check) return undefined;
    const after = reached.get(check.name) ?? 0;
    const { findings, seal } = await withAuditPool(this.#reads.url, (pool) =>
      withRetry(RETRY_MS, () => onSnapshot(pool, signal, (client) => sliceOf(client, check, after))),
    );
    await storeFindings(this.#pool, findings, [after, seal]);
    return findings[0];
  }

  async last(): Promise<LastFullAudit | undefined> {
    const text = `select min(at) as at, jsonb_object_agg(name, violations) as violations
      from audit_progress where name = any($1) having count(*) > 0`;
    return (await this.#pool.query<LastFullAudit>(text, [CHECKS.map(({ name }) => name)])).rows[0];
  }
}

/** Runs a check; that of the seals on some of them after that one. */
async function sliceOf(client: PoolClient, check: AuditCheck, after: number) {
  const isSeals = check.name === SEALS_CHECK;
  const [slice] = isSeals ? (await client.query<{ last: number | null }>(NEXT_SEALS, [after])).rows : [];
  const last = slice?.last ?? null;
  return { findings: await runCheck(client, check, [after + 1, last]), seal: last ?? 0 };
}
