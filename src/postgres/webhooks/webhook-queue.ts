import type { Pool } from "pg";
import type {
  AfterFailure,
  AttemptResult,
  ClaimedEndpoint,
  PendingEvent,
  WebhookBacklog,
  WebhookQueue,
} from "../../app/webhooks/webhook-queue.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { type EventRow, pendingEvent } from "./event-row.ts";
import { openSecrets, type SecretsRow, SECRET_COLUMNS } from "./endpoint-secrets.ts";

/** Far longer than an attempt, so that two instances never make the same one. */
const LEASE_MS = 45_000;

interface ClaimedRow extends SecretsRow {
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

const CLAIM = /* sql */ `
  ${WAITING}, due as (
    select id from webhook_endpoint
    where id = any (array(select endpoint_id from waiting)) and disabled is null and retry_at <= now()
      and lease_until < now()
    order by retry_at limit $3 for update skip locked
  )
  update webhook_endpoint set owner = $1, lease_until = now() + $2 * interval '1 millisecond'
  where id = any (array(select id from due))
  returning ${SECRET_COLUMNS}, url, failures, failing_since`;

const NEXT = /* sql */ `
  with held as (
    update webhook_endpoint set lease_until = now() + $3 * interval '1 millisecond'
    where id = $1 and owner = $2 and lease_until > now() and disabled is null
    returning id
  )
  select event.id, event.type, event.data, event.created_at
  from held
  cross join lateral (
    select event.* from webhook_delivery delivery
    join webhook_event event on event.id = delivery.event_id
    where delivery.endpoint_id = held.id and delivery.delivered_at is null
    order by delivery.seq limit 1
  ) event`;

const ATTEMPT = /* sql */ `
  insert into webhook_attempt (endpoint_id, event_id, status, error, ms, started_at)
  values ($1, $3, $4, $5, $6, $7)`;

const DELIVERED = /* sql */ `
  with attempt as (${ATTEMPT}), delivery as (
    update webhook_delivery set delivered_at = now() where endpoint_id = $1 and event_id = $3
  )
  update webhook_endpoint set failures = 0, failing_since = null
  where id = $1 and owner = $2 and failures > 0`;

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
      where endpoint.retry_at < now() and endpoint.lease_until < now()), '0'::interval) as overdue,
    count(*) filter (where endpoint.failures > 0)::integer as failing
  from waiting
  join webhook_endpoint endpoint on endpoint.id = waiting.endpoint_id and endpoint.disabled is null
  cross join lateral (
    select count(*), min(created_at) as oldest from webhook_delivery
    where endpoint_id = endpoint.id and delivered_at is null
  ) pending`;

/** The outbox on PostgreSQL. */
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

  async claim(most: number): Promise<ClaimedEndpoint[]> {
    const rows = await this.#query<ClaimedRow>("claim", CLAIM, [this.#instanceId, LEASE_MS, most]);
    return Promise.all(
      rows.map(async (row) => ({
        endpointId: idFromUuid("we", row.id),
        url: row.url,
        secrets: await openSecrets(this.#bodies, row),
        failures: row.failures,
        failingSince: row.failing_since ?? undefined,
      })),
    );
  }

  async next(endpointId: string): Promise<PendingEvent | undefined> {
    const values = [uuidFromId("we", endpointId), this.#instanceId, LEASE_MS];
    const [row] = await this.#query<EventRow>("next", NEXT, values);
    return row && pendingEvent(row);
  }

  async delivered(endpointId: string, eventId: string, attempt: AttemptResult): Promise<void> {
    await this.#query("delivered", DELIVERED, this.#attemptValues(endpointId, eventId, attempt));
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
