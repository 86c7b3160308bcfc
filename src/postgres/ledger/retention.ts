import { setTimeout as sleep } from "node:timers/promises";
import { WEBHOOK_RETENTION_DAYS } from "../../app/webhooks/webhook-endpoints.ts";
import type { Parts } from "../database/parts.ts";

export interface RetentionOptions extends Pick<Parts, "pool" | "log"> {
  /** Waits for `ms` or until the signal aborts. */
  pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Maximum rows per transaction, so that concurrent calls barely wait. */
const BATCH = 100;

const KINDS: readonly ExpiredRows[] = [
  "claims",
  "executions",
  "relays",
  "sign_ins",
  "sessions",
  "oauth",
  "requests",
  "events",
];

/** Initial and maximum share of time spent deleting, over all instances. */
const [INITIAL_SHARE, MAX_SHARE] = [0.05, 0.5];

/** The share doubles after each such period of backlog, ms. */
const BACKLOG_MS = 10 * 60_000;

/**
 * Pause after a batch, ms: calls have priority. All instances share one budget, which grows with the backlog,
 * so that deletion keeps up with new rows.
 * @param lastedMs how long full batches have followed each other
 */
export function pauseAfter(tookMs: number, instances: number, lastedMs: number): number {
  const share = Math.min(MAX_SHARE, INITIAL_SHARE * 2 ** Math.floor(lastedMs / BACKLOG_MS));
  return tookMs * (Math.max(1, instances) / share - 1);
}

/** Deletes expired rows in small batches with pauses. */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #stopping = new AbortController();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Deletes all kinds once; does not reject. */
  async runOnce(): Promise<void> {
    try {
      await this.deleteExpired(KINDS);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#options.log.warn({ err: error }, "expired rows not deleted; retried");
    }
  }

  /** Stops after the current batch. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Deletes batches of each kind in turn until none is full. @returns the number of deleted rows */
  async deleteExpired(kinds: readonly ExpiredRows[]): Promise<number> {
    const { signal } = this.#stopping;
    const startedAt = performance.now();
    let total = 0;
    let remaining = kinds.map((kind) => ({ kind, from: "-infinity" }));
    while (remaining.length > 0 && !signal.aborted) {
      const unfinished: typeof remaining = [];
      for (const { kind, from } of remaining) {
        const batchStartedAt = performance.now();
        const { removed, upTo, instances } = await this.#batch(kind, from);
        total += removed;
        if (removed < BATCH || signal.aborted) continue;
        unfinished.push({ kind, from: upTo });
        const now = performance.now();
        await this.#pause(pauseAfter(now - batchStartedAt, instances, now - startedAt));
      }
      remaining = unfinished;
    }
    return total;
  }

  async #batch(
    kind: ExpiredRows,
    from: string,
  ): Promise<{ removed: number; upTo: string; instances: number }> {
    const { rows } = await this.#options.pool.query<DeletedRow>({
      name: `removal-${kind}`,
      text: DELETE_EXPIRED[kind],
      values: [from, BATCH],
    });
    const [row] = rows;
    return {
      removed: Number(row?.removed ?? 0n),
      upTo: row?.up_to ?? from,
      instances: Number(row?.instances ?? 1n),
    };
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    const pause =
      this.#options.pause ?? ((time) => sleep(time, undefined, { signal, ref: false }).catch(() => {}));
    await pause(ms, signal);
  }
}

type ExpiredRows =
  | "claims"
  | "executions"
  | "relays"
  | "sign_ins"
  | "sessions"
  | "oauth"
  | "requests"
  | "events";

/**
 * Counts instances by their named connections, and turns off the wait for the disk: a crash only restores
 * rows that are deleted again.
 */
const INSTANCE_COUNT = /* sql */ `(
  select count(distinct application_name) from pg_stat_activity
  where datname = current_database() and application_name ~ '^toolgate [0-9a-f-]{36}$'
) as instances, set_config('synchronous_commit', 'off', true)`;

/** Result of a batch of at most $2 rows; the next batch starts at `up_to`, its $1. */
interface DeletedRow {
  removed: bigint;
  up_to: string;
  instances: bigint;
}

/**
 * One batch per kind. Claims: expired idempotency records; claims of payments never expire. Sign-ins:
 * abandoned challenges and used nonces, after a margin for clock differences, as of OAuth. Sessions: expired
 * ones; idle sessions are rejected until then.
 */
export const DELETE_EXPIRED: Readonly<Record<ExpiredRows, string>> = {
  claims: /* sql */ `
    select forgotten as removed, up_to::text, ${INSTANCE_COUNT} from claims_forget($1, $2)`,
  executions: /* sql */ `select sandbox_forget($2) as removed, $1 as up_to, ${INSTANCE_COUNT}`,
  relays: /* sql */ `select relay_forget($2) as removed, $1 as up_to, ${INSTANCE_COUNT}`,
  sign_ins: /* sql */ `
    with gone as (
      delete from sign_in_challenge where nonce in (
        select nonce from sign_in_challenge where expires_at < now() - interval '5 minutes' limit $2)
      returning nonce),
    used as (
      delete from used_nonce where nonce in (
        select nonce from used_nonce where expires_at < now() - interval '5 minutes' limit $2)
      returning nonce)
    select greatest((select count(*) from gone), (select count(*) from used)) as removed, $1 as up_to,
      ${INSTANCE_COUNT}`,
  sessions: /* sql */ `
    with gone as (
      delete from console_session where id in (
        select id from console_session where expires_at < now() limit $2)
      returning id)
    select count(*) as removed, $1 as up_to, ${INSTANCE_COUNT} from gone`,
  oauth: /* sql */ `
    with gone as (
      delete from oauth_record where id in (
        select id from oauth_record where expires_at < now() - interval '5 minutes' limit $2)
      returning id)
    select count(*) as removed, $1 as up_to, ${INSTANCE_COUNT} from gone`,
  requests: /* sql */ `
    with gone as (
      delete from request_log where (account_id, id) in (
        select account_id, id from request_log where expires_at < now() limit $2)
      returning id)
    select count(*) as removed, $1 as up_to, ${INSTANCE_COUNT} from gone`,
  events: /* sql */ `
    with gone as (
      delete from webhook_event where id in (
        select id from webhook_event
        where created_at < now() - interval '${WEBHOOK_RETENTION_DAYS} days' limit $2)
      returning id),
    deliveries as (delete from webhook_delivery where event_id in (select id from gone)),
    attempts as (delete from webhook_attempt where event_id in (select id from gone))
    select count(*) as removed, $1 as up_to, ${INSTANCE_COUNT} from gone`,
};
