import type { Page } from "../../domain/core/page.ts";
import type { EventType } from "../../domain/webhooks/event-types.ts";

/** Whose events: an account, `acct_…`, or the deployment's for all operators. */
export type WebhookOwner = string;

/** The owner of the deployment's endpoints. */
export const OPERATORS: WebhookOwner = "acct_00000000000000000000000000000005";

/** Maximum endpoints of an owner. */
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

/** An attempt to deliver an event. */
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
  /** @throws ToolgateError INVALID_REQUEST for one too many */
  create(endpoint: {
    owner: WebhookOwner;
    url: string;
    types: readonly EventType[];
  }): Promise<{ endpoint: WebhookEndpoint; secret: string }>;
  /** Undefined members stay. Enabling starts deliveries at once. */
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
  /** Adds a test event for this endpoint. @returns `evt_…`; undefined without an enabled endpoint */
  sendTest(owner: WebhookOwner, endpointId: string): Promise<string | undefined>;
  /** Delivers again what the endpoint wants. @returns the number of events; undefined without an endpoint */
  replay(owner: WebhookOwner, endpointId: string, selection: ReplaySelection): Promise<number | undefined>;
  /** Newest first. @throws ToolgateError INVALID_REQUEST for an invalid cursor */
  attempts(query: {
    owner: WebhookOwner;
    endpointId: string;
    limit: number;
    cursor: string | undefined;
  }): Promise<Page<WebhookAttempt> | undefined>;
}

/** Adds events whose cause is no change of the database. */
export interface Events {
  /** Adds an event unless one of its type about the same was added today (UTC). */
  addDaily(owner: WebhookOwner, type: EventType, data: object, about: string): Promise<void>;
  /** Adds an event per API key that expires within 7 days, and one per key that expires within a day. */
  addExpiringKeys(): Promise<void>;
}
