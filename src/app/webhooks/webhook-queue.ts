/** An endpoint that this instance delivers to until the lease ends. */
export interface ClaimedEndpoint {
  /** `we_…` */
  readonly endpointId: string;
  readonly url: string;
  /** The current secret first; empty if none can be opened. */
  readonly secrets: readonly string[];
  /** Failed attempts since the last success. */
  readonly failures: number;
  /** First of them; undefined without failures. */
  readonly failingSince: Date | undefined;
}

/** An event as it is sent. */
export interface PendingEvent {
  /** `evt_…` */
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: Date;
  /** Members by their names in the API. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** How an attempt ended. */
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

/**
 * Events that wait for delivery. An endpoint is claimed by one instance at a time, which sends its events one
 * after the other in the order of their account.
 */
export interface WebhookQueue {
  /** Length of the lease, ms. */
  readonly leaseMs: number;
  /** Claims endpoints with due events, those that waited longest first. */
  claim(most: number): Promise<ClaimedEndpoint[]>;
  /** Renews the lease. @returns the next event; undefined when there is none, or the lease is lost */
  next(endpointId: string): Promise<PendingEvent | undefined>;
  delivered(endpointId: string, eventId: string, attempt: AttemptResult): Promise<void>;
  failed(endpointId: string, eventId: string, attempt: AttemptResult, after: AfterFailure): Promise<void>;
  /** Disables an endpoint without an attempt. */
  disable(endpointId: string, reason: string): Promise<void>;
  /** Gives up the lease. */
  release(endpointId: string): Promise<void>;
}

/** State of all deliveries. */
export interface WebhookBacklog {
  /** Events that enabled endpoints have not received. */
  readonly pending: number;
  /** How long the oldest of them waits, ms. */
  readonly oldestMs: number;
  /** How long an event waits although its endpoint may be tried, ms: it must stay near 0. */
  readonly overdueMs: number;
  readonly failingEndpoints: number;
}
