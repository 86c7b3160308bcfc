import type { Pool } from "pg";
import type {
  Events,
  WebhookEndpoints,
  WebhookOwner,
  WebhookBacklog,
  WebhookQueue,
} from "../../app/webhooks/webhook-endpoints.ts";
import { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import type { SealingKeys } from "../../domain/payments/quote.ts";
import { resealSecrets, PostgresWebhookQueue } from "./webhook-queue.ts";
import { PostgresWebhookEndpoints } from "./webhook-endpoints.ts";
import type { EventType } from "../../domain/webhooks/webhook.ts";
import { queryWithRetry } from "../database/retry.ts";
import { uuidFromId } from "../database/row-mapping.ts";
import type { Parts } from "../database/parts.ts";

export interface WebhookStores {
  readonly endpoints: WebhookEndpoints;
  readonly queue: WebhookQueue;
  readonly events: Events;
  backlog(): Promise<WebhookBacklog>;
  /** Seals secrets again that an older sealing key seals. */
  resealSecrets(): Promise<void>;
}

interface Options extends Pick<Parts, "pool" | "instanceId" | "random"> {
  readonly sealingKeys: SealingKeys;
}

export function openWebhooks({ pool, instanceId, sealingKeys, random }: Options): WebhookStores {
  const bodies = new SealedBodies(sealingKeys, random, "webhook");
  const queue = new PostgresWebhookQueue(pool, instanceId, bodies);
  return {
    endpoints: new PostgresWebhookEndpoints(pool, bodies, random),
    queue,
    events: new PostgresEvents(pool),
    backlog: () => queue.backlog(),
    resealSecrets: () => resealSecrets(pool, bodies),
  };
}

/** Keys of accounts that want to know, once a period; a new expiry counts as another. */
const EXPIRING = /* sql */ `
  select event_add(key.account_id, 'key.expiring', jsonb_build_object(
    'account_id', 'acct_' || encode(uuid_send(key.account_id), 'hex'),
    'key_id', 'key_' || encode(uuid_send(key.id), 'hex'), 'name', key.name,
    'expires_at', to_char(key.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
    key.id || ' ' || extract(epoch from key.expires_at) || ' ' || days)
  from (
    select distinct account_id from webhook_endpoint
    where disabled is null and 'key.expiring' = any (types)
  ) endpoint
  join api_key key on key.account_id = endpoint.account_id
  cross join lateral (
    select case when key.expires_at <= now() + interval '1 day' then 1 else 7 end as days
  ) notice
  where key.revoked_at is null and key.replaced_by is null and key.expires_at > now()
    and key.expires_at <= now() + interval '7 days'`;

/** Events on PostgreSQL whose cause is no change of the database. */
export class PostgresEvents implements Events {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async addDaily(owner: WebhookOwner, type: EventType, data: object, about: string): Promise<void> {
    await queryWithRetry(this.#pool, {
      text: /* sql */ `
        select event_add($1, $2, $3, concat_ws(' ', $2::text, $4::text, (now() at time zone 'utc')::date))`,
      values: [uuidFromId("acct", owner), type, data, about],
    });
  }

  async addExpiringKeys(): Promise<void> {
    await queryWithRetry(this.#pool, { text: EXPIRING });
  }
}
