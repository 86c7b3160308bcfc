import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { Log } from "./log.ts";

/** What changed: one key, or an account with all of its keys. Both in hex. */
export type KeyChange = { key: string } | { account: string };

/** What the listener needs. */
export interface KeyChangesOptions {
  url: string;
  log: Log;
  onChange: (change: KeyChange) => void;
  /** Changes may have been missed: forget everything. */
  onGap: () => void;
}

/** How often the connection must prove that it is alive, and how long a proof counts, ms. */
const [PING_MS, ALIVE_MS] = [200, 700];

/**
 * Hears of changed API keys (PostgreSQL LISTEN/NOTIFY). A connection that says nothing may be dead, so it is asked all the time;
 * {@link live} tells whether what was heard so far is all there is.
 */
export class KeyChanges {
  readonly #options: KeyChangesOptions;
  #aliveAt = Number.NEGATIVE_INFINITY;
  #stopping: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: KeyChangesOptions) {
    this.#options = options;
  }

  /** Whether no change older than a second can be unheard. Measured on the monotonic clock: it is about this process alone. */
  get live(): boolean {
    return performance.now() - this.#aliveAt < ALIVE_MS;
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
        if (signal.aborted) return;
        this.#options.log.warn(
          { err: error },
          "the connection that hears of revoked keys was lost; keys are looked up until it is back",
        );
      }
      this.#aliveAt = Number.NEGATIVE_INFINITY;
      this.#options.onGap();
      await sleep(PING_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Listens until the connection breaks or the signal aborts. */
  async #listen(signal: AbortSignal): Promise<void> {
    const client = new Client({
      connectionString: this.#options.url,
      application_name: "toolgate key changes",
      connectionTimeoutMillis: 2_000,
      query_timeout: ALIVE_MS,
    });
    client.on("error", () => {}); // The ping that follows fails.
    client.on("notification", ({ payload = "" }) => this.#hear(payload));
    try {
      await client.connect();
      await client.query("listen toolgate_key");
      this.#options.onGap();
      while (!signal.aborted) {
        const asked = performance.now();
        await client.query("select");
        this.#aliveAt = asked;
        await sleep(PING_MS, undefined, { signal }).catch(() => {});
      }
    } finally {
      client.end().catch(() => {});
    }
  }

  #hear(payload: string): void {
    const [kind, hex] = payload.split(":");
    if (hex === undefined) return;
    if (kind === "key") this.#options.onChange({ key: hex });
    if (kind === "account") this.#options.onChange({ account: hex });
  }
}
