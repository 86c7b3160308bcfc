import type { Clock } from "../../domain/core/clock.ts";
import { DatabaseUnavailableError, refusesWrites, isConnectionLost } from "./database-errors.ts";
import type { Log } from "../../domain/core/log.ts";

/** Interval of reports during an outage, ms. */
const REPORT_MS = 60_000;

/**
 * Time without failures after which an outage is over, ms. Writes are rarer than pings, hence the longer
 * time.
 */
const RECOVERED_AFTER_MS = { unreachable: 2_000, refused: 60_000 } as const;

interface Ongoing {
  readonly kind: keyof typeof RECOVERED_AFTER_MS;
  readonly since: number;
  failures: number;
  loggedAt: number;
  /** Time of the first success since the last failure. */
  reachedAt: number | undefined;
}

/** Logs the start, the progress and the end of a database outage instead of every error it causes. */
export class Outage {
  readonly #log: Log;
  readonly #clock: Clock;
  #ongoing: Ongoing | undefined;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Wraps the log of a database caller: drops unavailability errors. */
  withoutOutageErrors(log: Log): Log {
    return this.#filter(log, (error) =>
      causes(error).find((cause) => cause instanceof DatabaseUnavailableError),
    );
  }

  /** Wraps the log of a database client: also drops connection errors. */
  withoutConnectionErrors(log: Log): Log {
    return this.#filter(log, (error) =>
      causes(error).find((cause) => cause instanceof DatabaseUnavailableError || isConnectionLost(cause)),
    );
  }

  /** Records a successful database response. */
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

  #filter(log: Log, outageErrorIn: (error: unknown) => unknown): Log {
    const unlessOutage = (level: "warn" | "error") => (details: object, message: string) => {
      const outageError = "err" in details ? outageErrorIn(details.err) : undefined;
      if (outageError === undefined) log[level](details, message);
      else this.#recordFailure(outageError);
    };
    return {
      info: (details, message) => log.info(details, message),
      warn: unlessOutage("warn"),
      error: unlessOutage("error"),
    };
  }

  #recordFailure(error: unknown): void {
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

function causes(error: unknown): unknown[] {
  const found: unknown[] = [];
  for (let cause = error; cause instanceof Error && found.length < 8; cause = cause.cause) found.push(cause);
  return found;
}

function reasonOf(error: unknown): { code?: string; reason: string } {
  const reason = error instanceof Error ? error.message : String(error);
  const code =
    error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
  return { ...(code !== undefined && { code }), reason };
}
