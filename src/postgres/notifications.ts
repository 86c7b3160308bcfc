import { setTimeout as sleep } from "node:timers/promises";
import { Client, escapeIdentifier } from "pg";
import type { Log } from "./log.ts";

/** What one part of an instance wants to hear. */
export interface Subscription {
  readonly channel: string;
  readonly onMessage: (payload: string) => void;
  /** Something may have been missed: the connection is new, or was lost. */
  readonly onGap?: () => void;
}

/** What hearing needs. */
export interface NotificationsOptions {
  readonly url: string;
  readonly log: Log;
  /** Called whenever the connection has proved that it is alive. */
  readonly onAlive?: () => void;
}

/** How often the connection must prove that it is alive, and how long a proof counts, ms. */
const [PING_MS, ALIVE_MS] = [200, 700];

/**
 * Hears what other instances tell (PostgreSQL LISTEN/NOTIFY), over one connection for all that want to hear. A connection that says
 * nothing may be dead, so it is asked all the time; {@link live} tells whether what was heard so far is all there is.
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

  /** Whether nothing older than a second can be unheard. Measured on the monotonic clock: it is about this process alone. */
  get live(): boolean {
    return performance.now() - this.#aliveAt < ALIVE_MS;
  }

  /** From the next start on the channel is heard. */
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
            "the connection that hears of revoked keys, refunds and cancelled executions was lost; they are looked up until it is back",
          );
        }
      }
      this.#aliveAt = Number.NEGATIVE_INFINITY;
      this.#tellGap();
      await sleep(PING_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Listens until the connection breaks or the signal aborts. */
  async #listen(signal: AbortSignal): Promise<void> {
    const client = new Client({
      connectionString: this.#options.url,
      application_name: "toolgate notifications",
      connectionTimeoutMillis: 2_000,
      query_timeout: ALIVE_MS,
    });
    client.on("error", () => {}); // The ping that follows fails.
    client.on("notification", ({ channel, payload = "" }) => this.#tell(channel, payload));
    try {
      await client.connect();
      for (const { channel } of this.#subscriptions)
        await client.query(`listen ${escapeIdentifier(channel)}`);
      this.#tellGap();
      while (!signal.aborted) {
        const asked = performance.now();
        await client.query("select");
        this.#aliveAt = asked;
        this.#options.onAlive?.();
        await sleep(PING_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      client.end().catch(() => {});
    }
  }

  #tell(channel: string, payload: string): void {
    for (const one of this.#subscriptions) if (one.channel === channel) one.onMessage(payload);
  }

  #tellGap(): void {
    for (const { onGap: gap } of this.#subscriptions) gap?.();
  }
}
