import type { Clock, Random } from "../../domain/core/clock.ts";
import { GIVE_UP_MS, retryAfterMs, retryDelayMs } from "../../domain/webhooks/retry.ts";
import { webhookHeaders } from "../../domain/webhooks/signature.ts";
import type { AfterFailure, AttemptResult, ClaimedEndpoint, PendingEvent } from "./webhook-queue.ts";
import { type WebhookResponse, type WebhookSender, WebhookUnsentError } from "./webhook-sender.ts";

/** Time for a receiver to answer, ms. */
export const ATTEMPT_MS = 15_000;

/** An attempt, and what follows a failure. */
export type Attempt =
  | { readonly result: AttemptResult; readonly after: undefined }
  | { readonly result: AttemptResult & { readonly error: string }; readonly after: AfterFailure };

export interface AttemptDeps {
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
export async function attemptDelivery(
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
