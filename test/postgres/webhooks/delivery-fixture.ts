import { randomUUID } from "node:crypto";
import { WebhookDeliverer } from "../../../src/app/webhooks/webhook-deliverer.ts";
import { ACCOUNT_EVENTS } from "../../../src/domain/webhooks/webhook.ts";
import { GuardedWebhookSender } from "../../../src/outbound/webhook-sender.ts";
import { Notifications } from "../../../src/postgres/database/notifications.ts";
import { uuidFromId } from "../../../src/postgres/database/row-mapping.ts";
import { PostgresSealingKeys } from "../../../src/postgres/payments/sealing-keys.ts";
import { openWebhooks } from "../../../src/postgres/webhooks/index.ts";
import { systemClock, systemRandom } from "../../../src/system.ts";
import { MemoryLog, MemoryMetrics } from "../../app/jobs/fixture.ts";
import { closing } from "../../support/postgres.ts";
import { type Instance, openLedger } from "../fixture.ts";

export const newAccount = () => `acct_${randomUUID().replaceAll("-", "")}`;

/** The stores of webhooks on a database of its own, and what delivers their events. */
export async function openDeliveries() {
  const { database, pool, one } = await openLedger();
  const log = new MemoryLog();
  const sender = closing(new GuardedWebhookSender({ network: "any" }));
  const notifications = new Notifications({ url: database.url, log });
  const clocked = { clock: systemClock, random: systemRandom };
  const sealingKeys = await PostgresSealingKeys.open({ pool, ...clocked, log, notifications });
  const storesOf = ({ pool, instanceId }: Instance) =>
    openWebhooks({ pool, instanceId, sealingKeys, random: systemRandom });
  const stores = storesOf(one);

  /** Its clock stands, so that a busy machine makes no attempt slow. */
  function delivererOf(queue = stores.queue, options: { attemptMs?: number; now?: () => number } = {}) {
    const startedAt = Date.now();
    const clock = { now: options.now ?? (() => startedAt) };
    const metrics = new MemoryMetrics();
    const deps = { queue, sender, clock, random: systemRandom, metrics, log };
    return new WebhookDeliverer({ ...deps, pollMs: 20, ...options });
  }

  /** An endpoint that need not answer its challenge. */
  async function endpointAt(url: string, owner = newAccount()) {
    const endpoint = await newEndpointAt(url, owner);
    const id = uuidFromId("we", endpoint.endpointId);
    await pool.query("update webhook_endpoint set verified = true where id = $1", [id]);
    await pool.query("delete from webhook_delivery where endpoint_id = $1", [id]);
    return endpoint;
  }

  async function newEndpointAt(url: string, owner = newAccount()) {
    const { endpoint, secret } = await stores.endpoints.create({ owner, url, types: ACCOUNT_EVENTS });
    const { endpointId } = endpoint;
    const add = (type = "balance.low", data = {}) =>
      pool.query("select event_add($1, $2, $3)", [uuidFromId("acct", owner), type, data]);
    const state = async () =>
      (await stores.endpoints.list(owner)).find((found) => found.endpointId === endpointId);
    const attempts = async () => {
      const page = await stores.endpoints.attempts({ owner, endpointId, limit: 100, cursor: undefined });
      return page?.items.map(({ status, error }) => ({ status, error }));
    };
    return { owner, endpointId, secret, add, state, attempts };
  }

  return {
    database,
    pool,
    sealingKeys,
    stores,
    storesOf,
    delivererOf,
    endpointAt,
    newEndpointAt,
    /** Runs until nothing is due. */
    deliver: (deliverer = delivererOf(), signal = new AbortController().signal) => deliverer.run(signal),
    /** Makes failed deliveries due. */
    makeDue: () => pool.query("update webhook_endpoint set retry_at = now()"),
    empty: () => pool.query("truncate webhook_endpoint, webhook_event, webhook_delivery, webhook_attempt"),
  };
}
