import { randomUUID } from "node:crypto";
import type { Pool } from "pg";
import {
  MAX_ENDPOINTS,
  type ReplaySelection,
  type WebhookAttempt,
  type WebhookEndpoint,
  type WebhookEndpoints,
  type WebhookOwner,
} from "../../app/webhooks/webhook-endpoints.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import type { Random } from "../../domain/core/clock.ts";
import { invalidField } from "../../domain/core/errors.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import { type EventType, newSecret } from "../../domain/webhooks/webhook.ts";
import { readCursor, pageOf } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";

interface EndpointRow {
  id: string;
  url: string;
  types: string[];
  disabled: string | null;
  verified: boolean;
  failures: number;
  failing_since: Date | null;
  retry_at: Date;
  old_until: Date | null;
  created_at: Date;
  pending: number;
}

interface AttemptRow {
  id: string;
  event_id: string;
  type: string;
  started_at: Date;
  ms: number;
  status: number | null;
  error: string | null;
}

const COLUMNS = /* sql */ `
  endpoint.id, endpoint.url, endpoint.types, endpoint.disabled, endpoint.verified, endpoint.failures,
  endpoint.failing_since, endpoint.retry_at, endpoint.created_at,
  case when endpoint.old_until > now() then endpoint.old_until end as old_until, (
    select count(*)::integer from webhook_delivery
    where endpoint_id = endpoint.id and delivered_at is null) as pending`;

const LIST = /* sql */ `
  select ${COLUMNS} from webhook_endpoint endpoint where account_id = $1 order by created_at, id`;

/** Nothing if no slot is free, or another statement took the slot. */
const CREATE = /* sql */ `
  insert into webhook_endpoint (id, account_id, slot, url, types, key_version, secret, verified)
  select $1, $2, slot, $3, $4, $5, $6, false
  from generate_series(1, ${MAX_ENDPOINTS}) slot
  where slot not in (select slot from webhook_endpoint where account_id = $2)
  order by slot limit 1
  on conflict do nothing`;

const FIND = /* sql */ `select ${COLUMNS} from webhook_endpoint endpoint where account_id = $1 and id = $2`;

const UPDATE = /* sql */ `
  update webhook_endpoint endpoint set url = coalesce($3, url), types = coalesce($4, types),
    verified = verified and url = coalesce($3, url),
    disabled = case $5::boolean when true then null when false then coalesce(disabled, '') else disabled end,
    failures = case when $5 then 0 else failures end,
    failing_since = case when $5 then null else failing_since end,
    retry_at = case when $5 then now() else retry_at end
  where account_id = $1 and id = $2
  returning ${COLUMNS}`;

const TEST = "select webhook_test($1, $2) as id";

const DELETE = /* sql */ `
  with gone as (delete from webhook_endpoint where account_id = $1 and id = $2 returning id),
  deliveries as (delete from webhook_delivery where endpoint_id in (select id from gone)),
  attempts as (delete from webhook_attempt where endpoint_id in (select id from gone))
  select id from gone`;

/** Repeated after a lost response, it keeps what the first one stored. */
const ROTATE = /* sql */ `
  update webhook_endpoint endpoint set key_version = $3, secret = $4,
    old_key_version = case when secret = $4 then old_key_version when $5 > 0 then key_version end,
    old_secret = case when secret = $4 then old_secret when $5 > 0 then secret end,
    old_until = case
      when secret = $4 then old_until when $5 > 0 then now() + $5 * interval '1 millisecond' end
  where account_id = $1 and id = $2
  returning ${COLUMNS}`;

const ATTEMPTS = /* sql */ `
  select attempt.id, attempt.event_id, event.type, attempt.started_at, attempt.ms, attempt.status,
    attempt.error
  from webhook_attempt attempt join webhook_event event on event.id = attempt.event_id
  where attempt.endpoint_id = $1 and attempt.id < $2
  order by attempt.id desc limit $3 + 1`;

export class PostgresWebhookEndpoints implements WebhookEndpoints {
  readonly #pool: Pool;
  readonly #bodies: SealedBodies;
  readonly #random: Random;

  constructor(pool: Pool, bodies: SealedBodies, random: Random) {
    this.#pool = pool;
    this.#bodies = bodies;
    this.#random = random;
  }

  async list(owner: WebhookOwner): Promise<WebhookEndpoint[]> {
    const rows = await this.#query<EndpointRow>(LIST, [uuidFromId("acct", owner)]);
    return rows.map(endpointOf);
  }

  async create({ owner, url, types }: { owner: WebhookOwner; url: string; types: readonly EventType[] }) {
    const id = randomUUID();
    const secret = newSecret(this.#random);
    const { version, sealed } = this.#bodies.seal(owner, idFromUuid("we", id), secret);
    const keys = [uuidFromId("acct", owner), id];
    let row: EndpointRow | undefined;
    for (let tries = 0; !row && tries < MAX_ENDPOINTS; tries++) {
      await this.#query(CREATE, [id, keys[0], url, types, version, sealed]);
      await this.#query(TEST, keys);
      [row] = await this.#query<EndpointRow>(FIND, keys);
    }
    if (!row)
      throw invalidField("url", `there are ${MAX_ENDPOINTS} endpoints already; delete one you do not need`);
    return { endpoint: endpointOf(row), secret };
  }

  async update(
    owner: WebhookOwner,
    endpointId: string,
    change: Parameters<WebhookEndpoints["update"]>[2],
  ): Promise<WebhookEndpoint | undefined> {
    const keys = keysOf(owner, endpointId);
    if (!keys) return undefined;
    const [row] = await this.#query<EndpointRow>(UPDATE, [...keys, change.url, change.types, change.enabled]);
    const isChallenged = row?.verified === false && (change.url !== undefined || change.enabled === true);
    if (isChallenged) await this.#query(TEST, keys);
    return row && endpointOf(row);
  }

  async delete(owner: WebhookOwner, endpointId: string): Promise<boolean> {
    const keys = keysOf(owner, endpointId);
    return keys !== undefined && (await this.#query(DELETE, keys)).length > 0;
  }

  async rotateSecret(owner: WebhookOwner, endpointId: string, overlapMs: number) {
    const keys = keysOf(owner, endpointId);
    if (!keys) return undefined;
    const secret = newSecret(this.#random);
    const { version, sealed } = this.#bodies.seal(owner, endpointId, secret);
    const [row] = await this.#query<EndpointRow>(ROTATE, [...keys, version, sealed, overlapMs]);
    return row && { endpoint: endpointOf(row), secret };
  }

  async sendTest(owner: WebhookOwner, endpointId: string): Promise<string | undefined> {
    const keys = keysOf(owner, endpointId);
    if (!keys) return undefined;
    const [row] = await this.#query<{ id: string | null }>(TEST, keys);
    return row?.id ? idFromUuid("evt", row.id) : undefined;
  }

  async replay(
    owner: WebhookOwner,
    endpointId: string,
    selection: ReplaySelection,
  ): Promise<number | undefined> {
    const keys = keysOf(owner, endpointId);
    if (!keys) return undefined;
    const event = "eventId" in selection ? uuidOf("evt", selection.eventId) : undefined;
    if ("eventId" in selection && event === undefined) return 0;
    const [row] = await this.#query<{ count: bigint | null }>(
      "select webhook_replay($1, $2, $3, $4) as count",
      [...keys, event, "since" in selection ? selection.since : undefined],
    );
    return row?.count === null || row?.count === undefined ? undefined : Number(row.count);
  }

  async attempts({
    owner,
    endpointId,
    limit,
    cursor,
  }: PageRequest & { owner: WebhookOwner; endpointId: string }): Promise<Page<WebhookAttempt> | undefined> {
    const keys = keysOf(owner, endpointId);
    const before = readCursor("attempts", cursor);
    if (!keys) return undefined;
    const text = "select id from webhook_endpoint where account_id = $1 and id = $2";
    if ((await this.#query(text, keys)).length === 0) return undefined;
    const rows = await this.#query<AttemptRow>(ATTEMPTS, [keys[1], before, limit]);
    return pageOf("attempts", limit, rows, attemptOf);
  }

  #query<Row extends object>(text: string, values: readonly unknown[]): Promise<Row[]> {
    return queryWithRetry<Row>(this.#pool, { text, values: [...values] });
  }
}

/** Account and endpoint as UUIDs; undefined for an invalid identifier. */
function keysOf(owner: WebhookOwner, endpointId: string): [string, string] | undefined {
  const id = uuidOf("we", endpointId);
  return id === undefined ? undefined : [uuidFromId("acct", owner), id];
}

function endpointOf(row: EndpointRow): WebhookEndpoint {
  return {
    endpointId: idFromUuid("we", row.id),
    url: row.url,
    types: row.types,
    enabled: row.disabled === null,
    verified: row.verified,
    disabledReason: row.disabled || undefined,
    failures: row.failures,
    failingSince: row.failing_since ?? undefined,
    retryAt: row.failures > 0 ? row.retry_at : undefined,
    pending: row.pending,
    oldSecretUntil: row.old_until ?? undefined,
    createdAt: row.created_at,
  };
}

function attemptOf(row: AttemptRow): WebhookAttempt {
  return {
    eventId: idFromUuid("evt", row.event_id),
    type: row.type,
    startedAt: row.started_at,
    ms: row.ms,
    status: row.status ?? undefined,
    error: row.error ?? undefined,
  };
}
