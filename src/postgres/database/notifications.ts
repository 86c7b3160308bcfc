import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type ClientBase, escapeIdentifier } from "pg";
import type { Log } from "../../domain/core/log.ts";
import { clientFor } from "./server.ts";

export interface Subscription {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** Messages may have been missed: the connection is new or was lost. */
  readonly onGap?: () => void;
}

export interface NotificationsOptions {
  readonly url: string;
  readonly log: Log;
  /** A query that proves the connection alive. */
  readonly ping?: (client: ClientBase) => Promise<unknown>;
}

/** Ping interval, and how long a ping proves the connection alive, ms. */
const [PING_MS, ALIVE_MS] = [200, 700];

/**
 * Receives PostgreSQL notifications (LISTEN) for all subscribers on one connection. A silent connection may
 * be dead, so it is pinged; {@link live} is whether messages are complete so far.
 */
export class Notifications {
  readonly #options: NotificationsOptions;
  readonly #subscriptions: Subscription[] = [];
  #aliveAt = Number.NEGATIVE_INFINITY;
  #stopping: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: NotificationsOptions) {
    this.#options = options;
  }

  /**
   * Whether every message older than a second was received. By the monotonic clock, which no clock change
   * affects.
   */
  get live(): boolean {
    return performance.now() - this.#aliveAt < ALIVE_MS;
  }

  /** Takes effect at the next start. */
  subscribe(subscription: Subscription): void {
    this.#subscriptions.push(subscription);
  }

  start(): void {
    if (this.#stopping) return;
    this.#stopping = new AbortController();
    this.#running = this.#run(this.#stopping.signal);
  }

  async stop(): Promise<void> {
    this.#stopping?.abort();
    await this.#running;
    this.#stopping = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#listen(signal);
      } catch (error) {
        if (!signal.aborted) {
          this.#options.log.warn(
            { err: error },
            "connection for notifications of revoked keys, refunds and other changes lost; " +
              "querying the database until it is back",
          );
        }
      }
      this.#aliveAt = Number.NEGATIVE_INFINITY;
      this.#reportGap();
      await sleep(PING_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Listens until the connection breaks or the signal aborts. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { url, ping = () => client.query("select") } = this.#options;
    const client: Client = clientFor(url, {
      application_name: "toolgate notifications",
      connectionTimeoutMillis: 2_000,
      query_timeout: ALIVE_MS,
    });
    client.on("error", () => {}); // The next ping fails.
    client.on("notification", ({ channel, payload = "" }) => this.#dispatch(channel, payload));
    try {
      await client.connect();
      for (const { channel } of this.#subscriptions)
        await client.query(`listen ${escapeIdentifier(channel)}`);
      this.#reportGap();
      while (!signal.aborted) {
        const sentAt = performance.now();
        await ping(client);
        this.#aliveAt = sentAt;
        await sleep(PING_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      client.end().catch(() => {});
    }
  }

  #dispatch(channel: string, payload: string): void {
    for (const subscription of this.#subscriptions)
      if (subscription.channel === channel) subscription.onMessage(payload);
  }

  #reportGap(): void {
    for (const { onGap } of this.#subscriptions) onGap?.();
  }
}
