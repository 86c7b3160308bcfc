import type { Page, PageRequest } from "../../domain/core/page.ts";
import type { EventType } from "../../domain/webhooks/webhook.ts";

/** Whose events: an account, `acct_…`, or the deployment's for all operators. */
export type WebhookOwner = string;

export const OPERATORS: WebhookOwner = "acct_00000000000000000000000000000005";

export const MAX_ENDPOINTS = 10;

/** How long events, and the attempts to deliver them, are kept, days. */
export const WEBHOOK_RETENTION_DAYS = 30;

/** An endpoint, without its secret. */
export interface WebhookEndpoint {
  /** `we_…` */
  readonly endpointId: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly enabled: boolean;
  /** Whether its URL answered a challenge; until then only test events are sent. */
  readonly verified: boolean;
  /** Why the gateway disabled it; undefined if it is enabled or its owner disabled it. */
  readonly disabledReason: string | undefined;
  /** Failed attempts since the last success. */
  readonly failures: number;
  readonly failingSince: Date | undefined;
  /** When a failed delivery is tried again; undefined without failures. */
  readonly retryAt: Date | undefined;
  /** Events that it has not received. */
  readonly pending: number;
  /** Until when the secret before this one signs too. */
  readonly oldSecretUntil: Date | undefined;
  readonly createdAt: Date;
}

export interface WebhookAttempt {
  readonly eventId: string;
  readonly type: string;
  readonly startedAt: Date;
  readonly ms: number;
  readonly status: number | undefined;
  readonly error: string | undefined;
}

/** Selects events to deliver again. */
export type ReplaySelection = { readonly eventId: string } | { readonly since: Date };

/** Endpoints of an owner. Identifiers of others look like unknown ones. */
export interface WebhookEndpoints {
  list(owner: WebhookOwner): Promise<WebhookEndpoint[]>;
  /** Also challenges its URL by a test event. @throws ToolgateError INVALID_REQUEST for one too many */
  create(endpoint: {
    owner: WebhookOwner;
    url: string;
    types: readonly EventType[];
  }): Promise<{ endpoint: WebhookEndpoint; secret: string }>;
  /** Undefined members stay. Enabling starts deliveries at once. A new URL is challenged. */
  update(
    owner: WebhookOwner,
    endpointId: string,
    change: {
      url?: string | undefined;
      types?: readonly EventType[] | undefined;
      enabled?: boolean | undefined;
    },
  ): Promise<WebhookEndpoint | undefined>;
  /** @returns whether there was one */
  delete(owner: WebhookOwner, endpointId: string): Promise<boolean>;
  /** The old secret signs too for `overlapMs`. */
  rotateSecret(
    owner: WebhookOwner,
    endpointId: string,
    overlapMs: number,
  ): Promise<{ endpoint: WebhookEndpoint; secret: string } | undefined>;
  /**
   * Adds a test event, or repeats a challenge that waits. @returns `evt_…`; undefined without an enabled
   * endpoint
   */
  sendTest(owner: WebhookOwner, endpointId: string): Promise<string | undefined>;
  /** Delivers again what the endpoint wants. @returns the number of events; undefined without an endpoint */
  replay(owner: WebhookOwner, endpointId: string, selection: ReplaySelection): Promise<number | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  attempts(
    query: PageRequest & { owner: WebhookOwner; endpointId: string },
  ): Promise<Page<WebhookAttempt> | undefined>;
}

/** Adds events whose cause is no change of the database. */
export interface Events {
  /** Adds an event unless one of its type about the same was added today (UTC). */
  addDaily(owner: WebhookOwner, type: EventType, data: object, about: string): Promise<void>;
  /** Adds an event per API key that expires within 7 days, and one per key that expires within a day. */
  addExpiringKeys(): Promise<void>;
}

/** An endpoint that this instance delivers to until the lease ends. */
export interface ClaimedEndpoint {
  /** `we_…` */
  readonly endpointId: string;
  readonly account: WebhookOwner;
  /** Whether one of its last attempts took longer than {@link SLOW_MS}, or it has none. */
  readonly slow: boolean;
  readonly url: string;
  /** The current secret first; empty if none can be opened. */
  readonly secrets: readonly string[];
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** First of them; undefined without failures. */
  readonly failingSince: Date | undefined;
}

export interface PendingEvent {
  /** `evt_…` */
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: Date;
  /** Members by their names in the API. */
  readonly data: Readonly<Record<string, unknown>>;
}

export interface AttemptResult {
  readonly startedAt: Date;
  readonly ms: number;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** Why it failed, for the owner of the endpoint; undefined for a success. */
  readonly error: string | undefined;
}

/** What follows a failure: a later attempt, or none until the owner enables the endpoint again. */
export type AfterFailure = { readonly retryInMs: number } | { readonly disabled: string };

/** An attempt that takes longer is slow, ms. */
export const SLOW_MS = 2_000;

/** Places of an instance for endpoints. */
export interface FreePlaces {
  readonly most: number;
  /** How many of them slow endpoints may take. */
  readonly mostSlow: number;
  readonly mostPerAccount: number;
  /** The account of each place that is taken. */
  readonly taken: readonly WebhookOwner[];
}

/**
 * Events that wait for delivery. An endpoint is claimed by one instance at a time, which sends its events one
 * after the other in the order of their account.
 */
export interface WebhookQueue {
  /** Length of the lease, ms. */
  readonly leaseMs: number;
  /**
   * Claims endpoints with due events. Accounts that hold the fewest places come first, of these the one whose
   * last turn is the longest ago.
   */
  claim(places: FreePlaces): Promise<ClaimedEndpoint[]>;
  /**
   * Renews the lease. @returns the next event; undefined when there is none, the lease is lost or the URL was
   * changed
   */
  next(endpoint: ClaimedEndpoint): Promise<PendingEvent | undefined>;
  /** Verifies the endpoint. Without effect on the event if the URL was changed meanwhile. */
  delivered(endpoint: ClaimedEndpoint, eventId: string, attempt: AttemptResult): Promise<void>;
  failed(endpointId: string, eventId: string, attempt: AttemptResult, after: AfterFailure): Promise<void>;
  /** Disables an endpoint without an attempt. */
  disable(endpointId: string, reason: string): Promise<void>;
  /** Gives up the lease. */
  release(endpointId: string): Promise<void>;
}

export interface WebhookBacklog {
  /** Events that enabled endpoints have not received. */
  readonly pending: number;
  /** How long the oldest of them waits, ms. */
  readonly oldestMs: number;
  /** How long an event waits although its endpoint may be tried, ms: it must stay near 0. */
  readonly overdueMs: number;
  readonly failingEndpoints: number;
}
