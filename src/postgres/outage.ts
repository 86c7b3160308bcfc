import type { Clock } from "../domain/clock.ts";
import { DatabaseUnavailableError, refusesWrites, isConnectionLost } from "./database-errors.ts";
import type { Log } from "./log.ts";

/** How often the failures of a lasting outage are counted in the log, ms. */
const REPORT_MS = 60_000;

/** For how long nothing may fail until an outage is over, ms. That a database takes writes again shows only when something is written. */
const RECOVERED_AFTER_MS = { unreachable: 2_000, refused: 60_000 } as const;

interface Ongoing {
  readonly kind: keyof typeof RECOVERED_AFTER_MS;
  readonly since: number;
  failures: number;
  /** Since the last line. */
  loggedAt: number;
  /** Since the last failure. */
  reachedAt: number | undefined;
}

/** Logs an outage of the database when it begins, at intervals and when it is over, instead of each failure that it causes. */
export class Outage {
  readonly #log: Log;
  readonly #clock: Clock;
  #ongoing: Ongoing | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** The log for whatever calls the database: without errors that say that it is away. */
  withoutOutageErrors(log: Log): Log {
    return this.#without(log, (error) =>
      causes(error).find((cause) => cause instanceof DatabaseUnavailableError),
    );
  }

  /** The log for what is nothing but the database's client: without errors of its connections as well. */
  withoutConnectionErrors(log: Log): Log {
    return this.#without(log, (error) =>
      causes(error).find((cause) => cause instanceof DatabaseUnavailableError || isConnectionLost(cause)),
    );
  }

  /** The database has answered. */
  reached(): void {
    const ongoing = this.#ongoing;
    if (!ongoing) return;
    const now = this.#clock.now();
    ongoing.reachedAt ??= now;
    if (now - ongoing.reachedAt < RECOVERED_AFTER_MS[ongoing.kind]) return;
    this.#ongoing = undefined;
    const { kind, since, failures, reachedAt } = ongoing;
    this.#log.warn(
      { event: `database_${kind}_over`, since: new Date(since), outage_ms: reachedAt - since, failures },
      kind === "refused" ? "database accepts writes again" : "database reachable again",
    );
  }

  #without(log: Log, awayIn: (error: unknown) => unknown): Log {
    const unless = (level: "warn" | "error") => (details: object, message: string) => {
      const away = "err" in details ? awayIn(details.err) : undefined;
      if (away === undefined) log[level](details, message);
      else this.#failed(away);
    };
    return { warn: unless("warn"), error: unless("error") };
  }

  #failed(error: unknown): void {
    const now = this.#clock.now();
    const reason = causes(error).at(-1);
    const kind = refusesWrites(reason) ? "refused" : "unreachable";
    if (this.#ongoing?.kind !== kind) {
      this.#ongoing = { kind, since: now, failures: 1, loggedAt: now, reachedAt: undefined };
      const fields = { event: `database_${kind}`, since: new Date(now), ...reasonOf(reason) };
      this.#log.error(fields, kind === "refused" ? "database refuses writes" : "database unreachable");
      return;
    }
    const ongoing = this.#ongoing;
    ongoing.failures++;
    ongoing.reachedAt = undefined;
    if (now - ongoing.loggedAt < REPORT_MS) return;
    ongoing.loggedAt = now;
    const fields = { event: `database_${kind}`, since: new Date(ongoing.since), failures: ongoing.failures };
    this.#log.error(
      fields,
      kind === "refused" ? "database still refuses writes" : "database still unreachable",
    );
  }
}

/** An error and what lies behind it. */
function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  for (let one = error; one instanceof Error && found.length < 8; one = one.cause) found.push(one);
  return found;
}

function reasonOf(error: unknown): { code?: string; reason: string } {
  const reason = error instanceof Error ? error.message : String(error);
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
  return { ...(code !== undefined && { code }), reason };
}
