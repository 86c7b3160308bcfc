import type { Pool } from "pg";
import type { AccountRequests, PendingRequest } from "../../app/operations/account-requests.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import type { Log } from "../../domain/core/log.ts";
import { Interval } from "../database/interval.ts";
import { uuidFromId } from "../database/row-mapping.ts";

export interface RequestLogWriterOptions {
  readonly pool: Pool;
  readonly requests: Pick<AccountRequests, "take" | "dropped">;
  readonly bodies: Pick<SealedBodies, "seal">;
  readonly log: Pick<Log, "warn">;
}

/** Write interval, ms. */
const WRITE_MS = 500;

/** Requests that an account keeps, and rows that it writes until the older ones are deleted. */
export const [MAX_KEPT, TRIM_EVERY] = [20_000, 1_000];

const COLUMNS = [
  ["account_id", "uuid"],
  ["id", "uuid"],
  ["request_id", "text"],
  ["key_id", "uuid"],
  ["transport", "text"],
  ["method", "text"],
  ["tool", "text"],
  ["status", "integer"],
  ["code", "text"],
  ["run_id", "uuid"],
  ["receipt_id", "uuid"],
  ["charged", "bigint"],
  ["trace_id", "text"],
  ["total_us", "bigint"],
  ["tool_us", "bigint"],
  ["payment_us", "bigint"],
  ["repeats", "integer"],
  ["key_version", "integer"],
  ["sealed", "bytea"],
  ["received_at", "timestamptz"],
  ["expires_at", "timestamptz"],
] as const;

const NAMES = COLUMNS.map(([name]) => name).join(", ");

const ARRAYS = COLUMNS.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");

const INSERT = `insert into request_log (${NAMES}) select * from unnest(${ARRAYS}) row (${NAMES})`;

const TRIM = /* sql */ `
  delete from request_log where account_id = $1 and id <= (
    select id from request_log where account_id = $1 order by id desc offset $2 limit 1)`;

/**
 * Writes the requests that {@link AccountRequests} collects, all of an interval in one statement. A failed
 * write is not repeated: its requests are dropped and counted.
 */
export class RequestLogWriter {
  readonly #options: RequestLogWriterOptions;
  readonly #timer: Interval;
  /** Rows of each account since its older ones were deleted. */
  readonly #written = new Map<string, number>();

  constructor(options: RequestLogWriterOptions) {
    this.#options = options;
    this.#timer = new Interval(WRITE_MS, () => this.flush());
  }

  start(): void {
    this.#timer.start();
  }

  /** Also writes what waits. */
  async stop(): Promise<void> {
    await this.#timer.stop();
    await this.flush();
  }

  async flush(): Promise<void> {
    const { pool, requests, log } = this.#options;
    const taken = requests.take();
    if (taken.length === 0) return;
    try {
      const rows = taken.map((request) => this.#rowOf(request));
      const values = COLUMNS.map((_, index) => rows.map((row) => row[index]));
      await pool.query({ name: "request-log-write", text: INSERT, values });
      await this.#trim(taken);
    } catch (error) {
      requests.dropped(taken.length, "database");
      log.warn({ err: error, requests: taken.length }, "request log not written");
    }
  }

  /** Deletes what exceeds the requests that an account keeps. */
  async #trim(taken: readonly PendingRequest[]): Promise<void> {
    const written = this.#written;
    for (const { accountId } of taken) written.set(accountId, (written.get(accountId) ?? 0) + 1);
    for (const [accountId, rows] of written) {
      if (rows < TRIM_EVERY) continue;
      written.delete(accountId);
      const values = [uuidFromId("acct", accountId), MAX_KEPT];
      await this.#options.pool.query({ name: "request-log-trim", text: TRIM, values });
    }
  }

  /** In the order of the columns. */
  #rowOf({ accountId, id, ...request }: PendingRequest): readonly unknown[] {
    const { keyId, runId, receiptId, body } = request;
    const sealed = body === undefined ? undefined : this.#options.bodies.seal(accountId, id, body);
    return [
      uuidFromId("acct", accountId),
      uuidFromId("log", id),
      request.requestId,
      keyId === undefined ? null : uuidFromId("key", keyId),
      request.transport,
      request.method,
      request.tool,
      request.status,
      request.code,
      runId === undefined ? null : uuidFromId("run", runId),
      receiptId === undefined ? null : uuidFromId("rcpt", receiptId),
      request.charged,
      request.traceId,
      Math.round(request.ms * 1000),
      Math.round(request.toolMs * 1000),
      Math.round(request.paymentMs * 1000),
      request.repeats,
      sealed?.version,
      sealed?.sealed,
      request.receivedAt,
      request.expiresAt,
    ];
  }
}
