import type { Pool } from "pg";
import type { SealedBodies, SealedBody } from "../../domain/accounts/sealed-bodies.ts";
import { TEST_EVENT } from "../../domain/webhooks/webhook.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId, referenceText } from "../database/row-mapping.ts";
import {
  type AfterFailure,
  type AttemptResult,
  type ClaimedEndpoint,
  type FreePlaces,
  type PendingEvent,
  SLOW_MS,
  type WebhookBacklog,
  type WebhookQueue,
} from "../../app/webhooks/webhook-endpoints.ts";

export interface SecretsRow {
  id: string;
  account_id: string;
  key_version: number;
  secret: Buffer;
  /** Null unless the old secret signs too. */
  old_key_version: number | null;
  old_secret: Buffer | null;
}

/** Columns of {@link SecretsRow}. */
export const SECRET_COLUMNS = /* sql */ `
  id, account_id, key_version, secret,
  case when old_until > now() then old_key_version end as old_key_version,
  case when old_until > now() then old_secret end as old_secret`;

/** The secrets that sign, the current one first; without those whose sealing key was retired. */
export async function openSecrets(bodies: SealedBodies, row: SecretsRow): Promise<string[]> {
  const sealed: SealedBody[] = [{ version: row.key_version, sealed: row.secret }];
  if (row.old_key_version !== null && row.old_secret !== null)
    sealed.push({ version: row.old_key_version, sealed: row.old_secret });
  const [owner, endpointId] = [idFromUuid("acct", row.account_id), idFromUuid("we", row.id)];
  const secrets = await Promise.all(sealed.map((one) => bodies.open(owner, endpointId, one)));
  return secrets.filter((secret) => secret !== undefined);
}

/**
 * Seals with the current sealing key what an older one seals, so that the older one can be retired, and
 * deletes old secrets that sign no more.
 */
export async function resealSecrets(pool: Pool, bodies: SealedBodies): Promise<void> {
  await queryWithRetry(pool, {
    text: `update webhook_endpoint set old_key_version = null, old_secret = null, old_until = null
           where old_until <= now()`,
  });
  const rows = await queryWithRetry<SecretsRow>(pool, {
    text: `select ${SECRET_COLUMNS} from webhook_endpoint where key_version <> $1 or old_key_version <> $1`,
    values: [bodies.version],
  });
  for (const row of rows) {
    const [owner, endpointId] = [idFromUuid("acct", row.account_id), idFromUuid("we", row.id)];
    const secrets = await openSecrets(bodies, row);
    const [now, old] = secrets.map((secret) => bodies.seal(owner, endpointId, secret));
    if (!now || (old === undefined) !== (row.old_secret === null)) continue;
    await queryWithRetry(pool, {
      text: `update webhook_endpoint set key_version = $3, secret = $4, old_key_version = $5, old_secret = $6
             where id = $1 and secret = $2`,
      values: [row.id, row.secret, now.version, now.sealed, old?.version, old?.sealed],
    });
  }
}

/** Far longer than an attempt, so that two instances never make the same one. */
const LEASE_MS = 45_000;

interface ClaimedRow extends SecretsRow {
  slow: boolean;
  url: string;
  failures: number;
  failing_since: Date | null;
}

/** Reads the index of pending deliveries from one endpoint to the next. */
const WAITING = /* sql */ `
  with recursive waiting as (
    (select endpoint_id from webhook_delivery where delivered_at is null order by endpoint_id limit 1)
    union all
    select (
      select endpoint_id from webhook_delivery
      where delivered_at is null and endpoint_id > waiting.endpoint_id order by endpoint_id limit 1)
    from waiting where waiting.endpoint_id is not null
  )`;

/** Whether anything may be sent to the endpoint: until it is verified, only test events. */
const SENDABLE = /* sql */ `(endpoint.verified or exists (
  select from webhook_delivery delivery join webhook_event event on event.id = delivery.event_id
  where delivery.endpoint_id = endpoint.id and delivery.delivered_at is null
    and event.type = '${TEST_EVENT}'))`;

/** Attempts that decide whether an endpoint is slow. */
const JUDGED = 3;

/**
 * "place" counts the places that an account would hold with this endpoint, first of its speed and then in
 * all; "lane" the endpoints of a speed. The last step reads the lease again under its lock.
 */
const CLAIM = /* sql */ `
  ${WAITING}, taken as (
    select account_id, count(*) as places from unnest($6::uuid[]) account_id group by account_id
  ), due as (
    select id, account_id, retry_at, slow, turn.claimed_at as turn, coalesce(places, 0) as places
    from webhook_endpoint endpoint
    left join taken using (account_id)
    cross join lateral (
      select max(claimed_at) as claimed_at from webhook_endpoint where account_id = endpoint.account_id
    ) turn
    cross join lateral (
      select coalesce(max(ms) > ${SLOW_MS}, true) as slow from (
        select ms from webhook_attempt where endpoint_id = endpoint.id order by id desc limit ${JUDGED}
      ) attempt
    ) judged
    where id = any (array(select endpoint_id from waiting)) and disabled is null and retry_at <= now()
      and lease_until < now() and ${SENDABLE}
  ), placed as (
    select *, places + row_number() over (partition by account_id, slow order by retry_at) as place from due
  ), laned as (
    select *, row_number() over (partition by slow order by place, turn, retry_at) as lane from placed
    where place <= $5
  ), chosen as (
    select id, slow, turn, retry_at,
      places + row_number() over (partition by account_id order by retry_at) as place
    from laned where not slow or lane <= $4
  ), claimed as (
    select id, slow from chosen where place <= $5 order by place, turn, retry_at limit $3
  ), locked as (
    select id from webhook_endpoint
    where id = any (array(select id from claimed)) and disabled is null and retry_at <= now()
      and lease_until < now()
    for update skip locked
  )
  update webhook_endpoint
  set owner = $1, lease_until = now() + $2 * interval '1 millisecond', claimed_at = now()
  where id = any (array(select id from locked))
  returning ${SECRET_COLUMNS}, url, failures, failing_since,
    (select slow from claimed where claimed.id = webhook_endpoint.id) as slow`;

const NEXT = /* sql */ `
  with held as (
    update webhook_endpoint set lease_until = now() + $3 * interval '1 millisecond'
    where id = $1 and owner = $2 and lease_until > now() and disabled is null and url = $4
    returning id, verified
  )
  select event.id, event.type, event.data, event.created_at
  from held
  cross join lateral (
    select event.* from webhook_delivery delivery
    join webhook_event event on event.id = delivery.event_id
    where delivery.endpoint_id = held.id and delivery.delivered_at is null
      and (held.verified or event.type = '${TEST_EVENT}')
    order by delivery.seq limit 1
  ) event`;

const ATTEMPT = /* sql */ `
  insert into webhook_attempt (endpoint_id, event_id, status, error, ms, started_at)
  values ($1, $3, $4, $5, $6, $7)`;

const DELIVERED = /* sql */ `
  with attempt as (${ATTEMPT}), delivery as (
    update webhook_delivery set delivered_at = now()
    where endpoint_id = $1 and event_id = $3
      and exists (select from webhook_endpoint where id = $1 and url = $8)
  )
  update webhook_endpoint set failures = 0, failing_since = null, verified = true
  where id = $1 and owner = $2 and url = $8 and (failures > 0 or not verified)`;

const FAILED = /* sql */ `
  with attempt as (${ATTEMPT})
  update webhook_endpoint set failures = failures + 1, failing_since = coalesce(failing_since, $7),
    retry_at = now() + $8 * interval '1 millisecond', disabled = coalesce(disabled, $9), owner = null,
    lease_until = '-infinity'
  where id = $1 and owner = $2`;

/** Others go first, and an endpoint without events is not claimed again at once. */
const RELEASE = /* sql */ `
  update webhook_endpoint set owner = null, lease_until = '-infinity',
    retry_at = greatest(retry_at, now() + interval '0.5 seconds')
  where id = $1 and owner = $2`;

const BACKLOG = /* sql */ `
  ${WAITING}
  select coalesce(sum(pending.count), 0)::integer as pending,
    coalesce(max(now() - pending.oldest), '0'::interval) as oldest,
    coalesce(max(now() - greatest(pending.oldest, endpoint.retry_at)) filter (
      where endpoint.retry_at < now() and endpoint.lease_until < now() and ${SENDABLE}
    ), '0'::interval) as overdue,
    count(*) filter (where endpoint.failures > 0)::integer as failing
  from waiting
  join webhook_endpoint endpoint on endpoint.id = waiting.endpoint_id and endpoint.disabled is null
  cross join lateral (
    select count(*), min(created_at) as oldest from webhook_delivery
    where endpoint_id = endpoint.id and delivered_at is null
  ) pending`;

export class PostgresWebhookQueue implements WebhookQueue {
  readonly leaseMs = LEASE_MS;
  readonly #pool: Pool;
  readonly #instanceId: string;
  readonly #bodies: SealedBodies;

  constructor(pool: Pool, instanceId: string, bodies: SealedBodies) {
    this.#pool = pool;
    this.#instanceId = instanceId;
    this.#bodies = bodies;
  }

  async claim({ most, mostSlow, mostPerAccount, taken }: FreePlaces): Promise<ClaimedEndpoint[]> {
    const accounts = taken.map((account) => uuidFromId("acct", account));
    const values = [this.#instanceId, LEASE_MS, most, mostSlow, mostPerAccount, accounts];
    const rows = await this.#query<ClaimedRow>("claim", CLAIM, values);
    return Promise.all(
      rows.map(async (row) => ({
        endpointId: idFromUuid("we", row.id),
        account: idFromUuid("acct", row.account_id),
        slow: row.slow,
        url: row.url,
        secrets: await openSecrets(this.#bodies, row),
        failures: row.failures,
        failingSince: row.failing_since ?? undefined,
      })),
    );
  }

  async next({ endpointId, url }: ClaimedEndpoint): Promise<PendingEvent | undefined> {
    const values = [uuidFromId("we", endpointId), this.#instanceId, LEASE_MS, url];
    const [row] = await this.#query<EventRow>("next", NEXT, values);
    return row && pendingEvent(row);
  }

  async delivered(
    { endpointId, url }: ClaimedEndpoint,
    eventId: string,
    attempt: AttemptResult,
  ): Promise<void> {
    const values = [...this.#attemptValues(endpointId, eventId, attempt), url];
    await this.#query("delivered", DELIVERED, values);
  }

  async failed(
    endpointId: string,
    eventId: string,
    attempt: AttemptResult,
    after: AfterFailure,
  ): Promise<void> {
    const next = "disabled" in after ? [0, after.disabled] : [after.retryInMs, null];
    const values = [...this.#attemptValues(endpointId, eventId, attempt), ...next];
    await this.#query("failed", FAILED, values);
  }

  async disable(endpointId: string, reason: string): Promise<void> {
    const text = `update webhook_endpoint set disabled = coalesce(disabled, $3), owner = null,
      lease_until = '-infinity' where id = $1 and owner = $2`;
    await this.#query("disable", text, [uuidFromId("we", endpointId), this.#instanceId, reason]);
  }

  async release(endpointId: string): Promise<void> {
    await this.#query("release", RELEASE, [uuidFromId("we", endpointId), this.#instanceId]);
  }

  async backlog(): Promise<WebhookBacklog> {
    const [row] = await this.#query<{
      pending: number;
      oldest_ms: number;
      overdue_ms: number;
      failing: number;
    }>(
      "backlog",
      `select pending, failing, (extract(epoch from oldest) * 1000)::float8 as oldest_ms,
         (extract(epoch from overdue) * 1000)::float8 as overdue_ms from (${BACKLOG}) backlog`,
      [],
    );
    return {
      pending: row?.pending ?? 0,
      oldestMs: row?.oldest_ms ?? 0,
      overdueMs: row?.overdue_ms ?? 0,
      failingEndpoints: row?.failing ?? 0,
    };
  }

  #attemptValues(
    endpointId: string,
    eventId: string,
    { status, error, ms, startedAt }: AttemptResult,
  ): unknown[] {
    return [
      uuidFromId("we", endpointId),
      this.#instanceId,
      uuidFromId("evt", eventId),
      status,
      error,
      ms,
      startedAt,
    ];
  }

  /** An attempt that is recorded twice after a lost response is listed twice. */
  #query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return queryWithRetry<Row>(this.#pool, { name: `webhooks-${name}`, text, values });
  }
}

export interface EventRow {
  id: string;
  type: string;
  data: Record<string, unknown>;
  created_at: Date;
}

export function pendingEvent({ id, type, data, created_at: createdAt }: EventRow): PendingEvent {
  return { eventId: idFromUuid("evt", id), type, createdAt, data: dataOf(data) };
}

/** SQL has no base58: it writes the reference of a payment in hex. */
function dataOf({ network, reference, ...data }: Record<string, unknown>): Record<string, unknown> {
  if (typeof network !== "string" || typeof reference !== "string") return data;
  return { ...data, tx_signature: referenceText({ network, reference: Buffer.from(reference, "hex") }) };
}
