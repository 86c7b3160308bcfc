import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../domain/core/log.ts";
import { clientFor } from "../database/server.ts";

export interface SessionLockOptions {
  readonly url: string;
  /** The owner of this instance's runs. */
  readonly instanceId: string;
  readonly log: Log;
}

/** Pause before reconnecting, ms. */
const PAUSE_MS = 1_000;

/**
 * The kernel sends keep-alives even while the event loop stalls, so no firewall drops the idle connection.
 * Ms.
 */
const KEEP_ALIVE_MS = 30_000;

/**
 * Proves to other instances that this process exists: a session with a shared advisory lock on the instance's
 * identifier. It survives event loop stalls and ends with the process. Renews no lease.
 */
export class SessionLock {
  readonly #options: SessionLockOptions;
  #stopping: AbortController | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SessionLockOptions) {
    this.#options = options;
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
        await this.#hold(signal);
      } catch (error) {
        if (!signal.aborted) this.#options.log.warn({ err: error }, "session lock lost");
      }
      await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Holds the lock until the connection breaks or the signal aborts. */
  async #hold(signal: AbortSignal): Promise<void> {
    const { url, instanceId } = this.#options;
    // No query timeout: it would end the session after a stall.
    const client = clientFor(url, {
      application_name: "toolgate session",
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    });
    client.on("error", () => {}); // Ends the wait below.
    const ended = once(client, "end", { signal });
    // Also ends a query that an unreachable server never answers.
    ended.catch(() => client.end()).catch(() => {});
    try {
      await client.connect();
      await client.query("select pg_advisory_lock_shared(hashtextextended($1::uuid::text, 0))", [instanceId]);
      await ended;
      throw new Error("Connection terminated");
    } finally {
      client.end().catch(() => {});
    }
  }
}
