import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../domain/core/log.ts";
import type { Metrics } from "../operations/metrics.ts";
import { type Attempt, ATTEMPT_MS, attemptDelivery, type AttemptDeps } from "./attempt-delivery.ts";
import type { ClaimedEndpoint, PendingEvent, WebhookQueue } from "./webhook-queue.ts";

export interface WebhookDelivererDeps extends AttemptDeps {
  readonly queue: WebhookQueue;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Interval of queries for due endpoints, ms. */
  readonly pollMs: number;
}

/** Endpoints that an instance delivers to at once; one event at a time each. */
export const CONCURRENT_ENDPOINTS = 32;

/** Events in a row until an endpoint lets others go first. */
const IN_A_ROW = 100;

/** Delivers due events. Several instances share the work: each claims endpoints for the time of a lease. */
export class WebhookDeliverer {
  readonly #deps: WebhookDelivererDeps;

  constructor(deps: WebhookDelivererDeps) {
    this.#deps = deps;
    for (const outcome of ["delivered", "failed", "disabled"] as const)
      deps.metrics.count("toolgate_webhook_attempts_total", 0, { outcome });
  }

  /**
   * Delivers until nothing is due or `forMs` are over. A slow receiver occupies one of the places and delays
   * no other endpoint.
   */
  async run(signal: AbortSignal, forMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { queue, pollMs, clock } = this.#deps;
    const until = clock.now() + forMs;
    const working = new Map<string, Promise<void>>();
    const problems: unknown[] = [];
    while (!signal.aborted) {
      const free = clock.now() < until ? CONCURRENT_ENDPOINTS - working.size : 0;
      for (const endpoint of free > 0 ? await queue.claim(free) : []) {
        const work = this.#deliver(endpoint, signal)
          .catch((error: unknown) => void problems.push(error))
          .finally(() => working.delete(endpoint.endpointId));
        working.set(endpoint.endpointId, work);
      }
      if (working.size === 0) break;
      await Promise.race([...working.values(), delay(pollMs, undefined, { signal }).catch(() => {})]);
    }
    await Promise.all(working.values());
    signal.throwIfAborted();
    if (problems.length > 0) throw new AggregateError(problems, "webhooks were not delivered");
  }

  /** Sends the events of an endpoint in their order, until one fails. */
  async #deliver(claimed: ClaimedEndpoint, signal: AbortSignal): Promise<void> {
    const { queue, clock } = this.#deps;
    const { endpointId } = claimed;
    let endpoint = claimed;
    if (endpoint.secrets.length === 0) {
      await queue.disable(endpointId, "its secret can no longer be read: rotate the secret");
      return;
    }
    try {
      for (let sent = 0; sent < IN_A_ROW && !signal.aborted; sent++) {
        const askedAt = clock.now();
        const event = await queue.next(endpointId);
        // A stalled process may come back when another instance holds the lease.
        if (!event || clock.now() - askedAt > queue.leaseMs - 2 * ATTEMPT_MS) return;
        const attempt = await attemptDelivery(this.#deps, endpoint, event, signal);
        await this.#record(endpoint, event, attempt);
        if (attempt.after) return;
        endpoint = { ...endpoint, failures: 0, failingSince: undefined };
      }
    } finally {
      await queue.release(endpointId);
    }
  }

  async #record(
    { endpointId }: ClaimedEndpoint,
    { eventId }: PendingEvent,
    { result, after }: Attempt,
  ): Promise<void> {
    const { queue, metrics, log } = this.#deps;
    if (after) await queue.failed(endpointId, eventId, result, after);
    else await queue.delivered(endpointId, eventId, result);
    const outcome = after ? ("disabled" in after ? "disabled" : "failed") : "delivered";
    metrics.count("toolgate_webhook_attempts_total", 1, { outcome });
    if (after && "disabled" in after)
      log.warn({ endpoint: endpointId, reason: after.disabled }, "webhook endpoint disabled");
  }
}
