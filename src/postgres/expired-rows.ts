/** What is removed once it is old. */
export type ExpiredRows = "claims" | "executions" | "relays" | "sign_ins" | "sessions";

/**
 * How many instances work on this database: each has a connection of this name, as it keeps the leases of its runs. And for this
 * transaction, that it waits for no disk: what a crash brings back is removed again.
 */
const INSTANCE_COUNT = /* sql */ `(
  select count(distinct application_name) from pg_stat_activity
  where datname = current_database() and application_name ~ '^toolgate [0-9a-f-]{36}$'
) as instances, set_config('synchronous_commit', 'off', true)`;

/** A batch of at most $2 rows: it tells how many it removed, and where the next one may begin, which is its $1. */
export interface DeletedRow {
  removed: bigint;
  up_to: string;
  instances: bigint;
}

/**
 * The statement for one batch of each.
 *
 * Claims: idempotency records that have expired. Those that a payment points to never do: what was bought with a transaction is replayed
 * for ever. Sign-ins: those that were not finished, a while after they could be, as the clocks of instances differ. Sessions: those that
 * are over; those that were not used for too long are found by nobody until then.
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
      returning nonce)
    select count(*) as removed, $1 as up_to, ${INSTANCE_COUNT} from gone`,
  sessions: /* sql */ `
    with gone as (
      delete from console_session where id in (
        select id from console_session where expires_at < now() limit $2)
      returning id)
    select count(*) as removed, $1 as up_to, ${INSTANCE_COUNT} from gone`,
};
