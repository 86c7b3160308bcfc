import { setTimeout as delay } from "node:timers/promises";
import type { Log } from "../../domain/core/log.ts";
import type { Metrics } from "../operations/metrics.ts";
import {
  type ClaimedEndpoint,
  type PendingEvent,
  SLOW_MS,
  type WebhookQueue,
  type AfterFailure,
  type AttemptResult,
} from "./webhook-endpoints.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { GIVE_UP_MS, retryAfterMs, retryDelayMs, webhookHeaders } from "../../domain/webhooks/webhook.ts";

export interface WebhookDelivererDeps extends AttemptDeps {
  readonly queue: WebhookQueue;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Interval of queries for due endpoints, ms. */
  readonly pollMs: number;
}

/** Endpoints that an instance delivers to at once; one event at a time each. */
export const CONCURRENT_ENDPOINTS = 32;

/** How many of them serve slow endpoints, and how many one account. */
export const [SLOW_ENDPOINTS, PER_ACCOUNT] = [CONCURRENT_ENDPOINTS / 4, 2];

/** Events in a row and time, ms, until an endpoint lets others go first. */
const [IN_A_ROW, CLAIM_MS] = [100, 30_000];

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
    const { pollMs, clock } = this.#deps;
    const until = clock.now() + forMs;
    const working = new Map<ClaimedEndpoint, Promise<void>>();
    const problems: unknown[] = [];
    while (!signal.aborted) {
      const idle = working.size === 0;
      const claimed = clock.now() < until ? await this.#claim([...working.keys()]) : [];
      // Work that ended during the claim held places that others wait for.
      if (idle && claimed.length === 0) break;
      for (const endpoint of claimed) {
        const work = this.#deliver(endpoint, signal)
          .catch((error: unknown) => void problems.push(error))
          .finally(() => working.delete(endpoint));
        working.set(endpoint, work);
      }
      await Promise.race([...working.values(), delay(pollMs, undefined, { signal }).catch(() => {})]);
    }
    await Promise.all(working.values());
    signal.throwIfAborted();
    if (problems.length > 0) throw new AggregateError(problems, "webhooks were not delivered");
  }

  async #claim(working: readonly ClaimedEndpoint[]): Promise<ClaimedEndpoint[]> {
    const most = CONCURRENT_ENDPOINTS - working.length;
    if (most <= 0) return [];
    const mostSlow = SLOW_ENDPOINTS - working.filter(({ slow }) => slow).length;
    const taken = working.map(({ account }) => account);
    return this.#deps.queue.claim({ most, mostSlow, mostPerAccount: PER_ACCOUNT, taken });
  }

  /** Sends the events of an endpoint in their order, until one fails. */
  async #deliver(claimed: ClaimedEndpoint, signal: AbortSignal): Promise<void> {
    const { queue, clock, attemptMs = ATTEMPT_MS } = this.#deps;
    const { endpointId } = claimed;
    const lastAttemptAt = clock.now() + CLAIM_MS - attemptMs;
    let endpoint = claimed;
    if (endpoint.secrets.length === 0) {
      await queue.disable(endpointId, "its secret can no longer be read: rotate the secret");
      return;
    }
    try {
      for (let sent = 0; sent < IN_A_ROW && !signal.aborted; sent++) {
        const askedAt = clock.now();
        if (askedAt > lastAttemptAt) return;
        const event = await queue.next(endpoint);
        // A stalled process may come back when another instance holds the lease.
        if (!event || clock.now() - askedAt > queue.leaseMs - 2 * ATTEMPT_MS) return;
        const attempt = await attemptDelivery(this.#deps, endpoint, event, signal);
        await this.#record(endpoint, event, attempt);
        if (attempt.after || attempt.result.ms > SLOW_MS) return;
        endpoint = { ...endpoint, failures: 0, failingSince: undefined };
      }
    } finally {
      await queue.release(endpointId);
    }
  }

  async #record(
    endpoint: ClaimedEndpoint,
    { eventId }: PendingEvent,
    { result, after }: Attempt,
  ): Promise<void> {
    const { queue, metrics, log } = this.#deps;
    const { endpointId } = endpoint;
    if (after) await queue.failed(endpointId, eventId, result, after);
    else await queue.delivered(endpoint, eventId, result);
    const outcome = after ? ("disabled" in after ? "disabled" : "failed") : "delivered";
    metrics.count("toolgate_webhook_attempts_total", 1, { outcome });
    if (after && "disabled" in after)
      log.warn({ endpoint: endpointId, reason: after.disabled }, "webhook endpoint disabled");
  }
}

/** Time for a receiver to answer, ms. */
const ATTEMPT_MS = 15_000;

type Attempt =
  | { readonly result: AttemptResult; readonly after: undefined }
  | { readonly result: AttemptResult & { readonly error: string }; readonly after: AfterFailure };

interface AttemptDeps {
  readonly sender: WebhookSender;
  readonly clock: Clock;
  readonly random: Random;
  /** Default {@link ATTEMPT_MS}. */
  readonly attemptMs?: number;
}

/**
 * Sends an event once. A response of 2xx is a success, 410 disables the endpoint, and everything else is
 * repeated, for three days.
 * @throws the reason of `signal` when it aborts: then nothing is known of the attempt
 */
async function attemptDelivery(
  { sender, clock, random, attemptMs = ATTEMPT_MS }: AttemptDeps,
  endpoint: ClaimedEndpoint,
  event: PendingEvent,
  signal: AbortSignal,
): Promise<Attempt> {
  const startedAt = new Date(clock.now());
  const body = webhookBody(event);
  const timestamp = Math.floor(startedAt.getTime() / 1_000);
  const headers = webhookHeaders(endpoint.secrets, { id: event.eventId, timestamp, body });
  const limit = AbortSignal.timeout(attemptMs);
  const response = await sender
    .send({ url: endpoint.url, headers, body }, AbortSignal.any([signal, limit]))
    .catch((error: unknown) => {
      signal.throwIfAborted();
      if (limit.aborted) return new WebhookUnsentError(`no response within ${attemptMs / 1_000} s`);
      if (error instanceof WebhookUnsentError) return error;
      throw error;
    });
  const ms = Math.max(0, clock.now() - startedAt.getTime());
  if (response instanceof WebhookUnsentError)
    return failure({ startedAt, ms, status: undefined, error: response.message }, undefined);
  const { status } = response;
  if (status >= 200 && status < 300)
    return { result: { startedAt, ms, status, error: undefined }, after: undefined };
  return failure({ startedAt, ms, status, error: problemOf(status) }, response);

  function failure(
    result: AttemptResult & { readonly error: string },
    answer: WebhookResponse | undefined,
  ): Attempt {
    if (answer?.status === 410) return { result, after: { disabled: "the receiver answered 410 Gone" } };
    const since = endpoint.failingSince?.getTime() ?? clock.now();
    if (clock.now() - since >= GIVE_UP_MS)
      return { result, after: { disabled: `deliveries failed for three days, last: ${result.error}` } };
    const asked = retryAfterMs(answer?.retryAfter ?? null, clock.now());
    return { result, after: { retryInMs: retryDelayMs(endpoint.failures + 1, random, asked) } };
  }
}

/** The body: equal in all attempts, so that a repeat is the same message. */
function webhookBody({ type, createdAt, data }: PendingEvent): string {
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
}

function problemOf(status: number): string {
  return status >= 300 && status < 400
    ? `the receiver answered ${status}: redirects are not followed, enter the final URL`
    : `the receiver answered ${status}`;
}

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What a receiver answered. Its body is never read. */
export interface WebhookResponse {
  readonly status: number;
  /** The Retry-After header. */
  readonly retryAfter: string | null;
}

/** Sends to addresses that the network setting allows, and follows no redirect. */
export interface WebhookSender {
  /** @throws WebhookUnsentError when no response came */
  send(request: WebhookRequest, signal: AbortSignal): Promise<WebhookResponse>;
}

/** No response came. The message is for the owner of the endpoint. */
export class WebhookUnsentError extends Error {
  override name = "WebhookUnsentError";
}
