import type { Pool } from "pg";
import type { Events, WebhookEndpoints } from "../../app/webhooks/webhook-endpoints.ts";
import type { WebhookBacklog, WebhookQueue } from "../../app/webhooks/webhook-queue.ts";
import { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import type { Random } from "../../domain/core/clock.ts";
import type { SealingKeys } from "../../domain/payments/quote.ts";
import { resealSecrets } from "./endpoint-secrets.ts";
import { PostgresEvents } from "./events.ts";
import { PostgresWebhookEndpoints } from "./webhook-endpoints.ts";
import { PostgresWebhookQueue } from "./webhook-queue.ts";

/** Webhooks on PostgreSQL. */
export interface WebhookStores {
  readonly endpoints: WebhookEndpoints;
  readonly queue: WebhookQueue;
  readonly events: Events;
  backlog(): Promise<WebhookBacklog>;
  /** Seals secrets again that an older sealing key seals. */
  resealSecrets(): Promise<void>;
}

interface Options {
  readonly pool: Pool;
  readonly instanceId: string;
  readonly sealingKeys: SealingKeys;
  readonly random: Random;
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
