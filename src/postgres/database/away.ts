import { DatabaseUnavailableError } from "./database-errors.ts";
import type { Notifications } from "./notifications.ts";

/** How long no statement is tried after one gave up, ms, unless notifications arrive again before. */
const AWAY_MS = 10_000;

/**
 * Whether the database is away: then what has an answer in memory uses it at once, instead of after the
 * seconds that each statement waits for a connection.
 */
export class DatabaseAway {
  readonly #notifications: Pick<Notifications, "live">;
  #until = Number.NEGATIVE_INFINITY;

  constructor(notifications: Pick<Notifications, "live"> = { live: false }) {
    this.#notifications = notifications;
  }

  get lasts(): boolean {
    return performance.now() < this.#until && !this.#notifications.live;
  }

  /** @throws the error of a statement, unless it gave up waiting for a connection */
  note(error: unknown): void {
    if (!(error instanceof DatabaseUnavailableError)) throw error;
    this.#until = performance.now() + AWAY_MS;
  }
}
