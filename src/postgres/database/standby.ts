import type { Pool } from "pg";
import type { Log } from "../../domain/core/log.ts";
import { Interval } from "./interval.ts";
import { openPool } from "./pool.ts";

export interface StandbyOptions {
  /** The primary and the standby; without a standby everything reads from the primary. */
  readonly url: string;
  readonly readUrl: string | undefined;
  readonly max: number;
  readonly applicationName: string;
  readonly log: Log;
}

/** How far a standby may lag behind, and how often that is checked, ms. */
const MAX_LAG_MS = 3_000;
const CHECK_MS = 500;

const WRITTEN = "select (pg_current_wal_lsn() - '0/0'::pg_lsn)::text as position";

/** Null on a server that is no standby. */
const REPLAYED = "select (pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::text as position";

/**
 * Chooses the pool of reads that may lag: the standby while it has replayed everything that the primary wrote
 * {@link MAX_LAG_MS} ago, else the primary. Never for money, keys or leases.
 */
export class Standby {
  readonly primary: Pool;
  readonly #standby: Pool | undefined;
  readonly #urls: Pick<StandbyOptions, "url" | "readUrl">;
  readonly #log: Log;
  readonly #checks: Interval;
  /** What the primary had written and the standby has not replayed yet, oldest first. */
  #written: { at: number; position: bigint }[] = [];
  /** When the primary wrote the last thing that the standby is known to have replayed. */
  #caughtUpAt = Number.NEGATIVE_INFINITY;
  #fresh = false;

  constructor({ url, readUrl, max, applicationName, log }: StandbyOptions) {
    this.primary = openPool(url, { max, applicationName });
    this.#standby = readUrl === undefined ? undefined : openPool(readUrl, { max, applicationName });
    this.#urls = { url, readUrl };
    this.#log = log;
    this.#checks = new Interval(CHECK_MS, () => this.#check());
  }

  get pool(): Pool {
    return this.#standby !== undefined && this.#isFresh() ? this.#standby : this.primary;
  }

  /** The database URL to read from, for connections of one's own. */
  get url(): string {
    const { url, readUrl = url } = this.#urls;
    return this.#isFresh() ? readUrl : url;
  }

  start(): void {
    if (this.#standby !== undefined) this.#checks.start();
  }

  async stop(): Promise<void> {
    await this.#checks.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await Promise.all([this.primary.end(), this.#standby?.end()]);
  }

  #isFresh(): boolean {
    return performance.now() - this.#caughtUpAt <= MAX_LAG_MS;
  }

  async #check(): Promise<void> {
    if (this.#standby === undefined) return;
    try {
      const at = performance.now();
      const [written, replayed] = await Promise.all([
        positionOf(this.primary, WRITTEN),
        positionOf(this.#standby, REPLAYED),
      ]);
      if (written !== undefined) this.#written.push({ at, position: written });
      const behind = this.#written.filter(({ position }) => position > (replayed ?? -1n));
      const caughtUp = this.#written[this.#written.length - behind.length - 1];
      if (caughtUp) this.#caughtUpAt = caughtUp.at;
      this.#written = behind.filter((entry) => at - entry.at <= MAX_LAG_MS);
    } catch {
      // The pool's errors say why; the lag grows and the primary takes over.
    }
    this.#report(this.#isFresh());
  }

  #report(fresh: boolean): void {
    if (fresh === this.#fresh) return;
    this.#fresh = fresh;
    if (fresh) this.#log.info({ event: "standby_used" }, "long reads use the standby");
    else this.#log.warn({ event: "standby_lags" }, "the standby lags or is unreachable: reading the primary");
  }
}

async function positionOf(pool: Pool, text: string): Promise<bigint | undefined> {
  const query = { text, query_timeout: MAX_LAG_MS };
  const { rows } = await pool.query<{ position: string | null }>(query);
  const position = rows[0]?.position ?? null;
  return position === null ? undefined : BigInt(position);
}
