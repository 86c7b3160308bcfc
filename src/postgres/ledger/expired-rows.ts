import { WEBHOOK_RETENTION_DAYS } from "../../app/webhooks/webhook-endpoints.ts";

/** Kinds of rows that expire. */
export type ExpiredRows =
  | "claims"
  | "executions"
  | "relays"
  | "sign_ins"
  | "sessions"
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
export interface DeletedRow {
  removed: bigint;
  up_to: string;
  instances: bigint;
}

/**
 * One batch per kind.
 * Claims: expired idempotency records; claims of payments never expire. Sign-ins: abandoned challenges and
 * used nonces, after a margin for clock differences. Sessions: expired ones; idle sessions are rejected until
 * then.
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
