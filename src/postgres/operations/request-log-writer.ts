import { setTimeout as sleep } from "node:timers/promises";
import type { Pool } from "pg";
import type { AccountRequests, PendingRequest } from "../../app/operations/account-requests.ts";
import type { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import type { Log } from "../../domain/core/log.ts";
import { Lru } from "../../domain/core/lru.ts";
import { loopTime } from "../../loop-time.ts";
import { Interval } from "../database/interval.ts";
import { uuidFromId } from "../database/row-mapping.ts";

export interface RequestLogWriterOptions {
  readonly pool: Pool;
  readonly requests: Pick<AccountRequests, "take" | "dropped">;
  readonly bodies: Pick<SealedBodies, "seal">;
  readonly log: Pick<Log, "warn">;
}

/** Write interval, ms, and the part of it over which the statements are spread. */
const [WRITE_MS, SPREAD_MS] = [500, 400];

/** Rows per statement: a thousand at once would hold up calls here and in the database for 20 ms. */
const MAX_ROWS = 100;

/** Requests that an account keeps, and rows that it writes until the older ones are deleted. */
export const [MAX_KEPT, TRIM_EVERY] = [20_000, 1_000];

/** Bytes that an account keeps until a payment of it was credited. */
export const MAX_UNPAID_BYTES = 20_000_000;

/** Bytes that others keep, and that an account writes until the older ones are deleted. */
const [MAX_PAID_BYTES, TRIM_EVERY_BYTES] = [200_000_000, 2_000_000];

/** Bytes of a row and its index entries besides what is sealed. */
const ROW_BYTES = 500;

/** Accounts whose written rows are counted. */
export const MAX_COUNTED = 10_000;

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

/** Does not wait for the disk: a crash also loses the requests that are not yet sent. */
const INSERT = /* sql */ `
  insert into request_log (${NAMES})
  select written.* from unnest(${ARRAYS}) written (${NAMES}), set_config('synchronous_commit', 'off', true)`;

const TRIM = /* sql */ `
  delete from request_log where account_id = $1 and id <= (
    select id from (
      select id, row_number() over newest as rows,
        sum(${ROW_BYTES} + coalesce(octet_length(sealed), 0)) over newest as bytes
      from request_log where account_id = $1
      window newest as (order by id desc rows unbounded preceding)
    ) request
    where rows > $2 or bytes > case when exists (
      select from transfer where credit = $1 and kind in ('deposit', 'assignment', 'clearing')
    ) then $4::bigint else $3::bigint end
    order by id desc limit 1)`;

interface Written {
  readonly rows: number;
  readonly bytes: number;
}

/**
 * Writes the requests that {@link AccountRequests} collects. A failed statement is not repeated: its requests
 * and those after them are dropped and counted.
 */
export class RequestLogWriter {
  readonly #options: RequestLogWriterOptions;
  readonly #timer: Interval;
  /** By account, since its older rows were deleted. */
  readonly #written = new Lru<string, Written>(MAX_COUNTED);

  constructor(options: RequestLogWriterOptions) {
    this.#options = options;
    this.#timer = new Interval(WRITE_MS, () => this.flush(SPREAD_MS));
  }

  start(): void {
    this.#timer.start();
  }

  /** Also writes what waits. */
  async stop(): Promise<void> {
    await this.#timer.stop();
    await this.flush();
  }

  /** @param spreadMs time over which the statements are spread */
  async flush(spreadMs = 0): Promise<void> {
    const { requests, log } = this.#options;
    const taken = requests.take();
    const from = loopTime();
    let written = 0;
    try {
      for (; written < taken.length; written += MAX_ROWS) {
        const waitMs = from + (written / taken.length) * spreadMs - loopTime();
        if (waitMs > 0) await sleep(waitMs);
        await this.#write(taken.slice(written, written + MAX_ROWS));
      }
    } catch (error) {
      // The rest is dropped, too: without a database each statement would wait for its own timeout.
      const lost = taken.length - written;
      requests.dropped(lost, "database");
      log.warn({ err: error, requests: lost }, "request log not written");
    }
  }

  async #write(taken: readonly PendingRequest[]): Promise<void> {
    const rows = taken.map((request) => this.#rowOf(request));
    const values = COLUMNS.map((_, index) => rows.map((row) => row[index]));
    await this.#options.pool.query({ name: "request-log-write", text: INSERT, values });
    await this.#trim(taken);
  }

  /** Deletes what exceeds the requests that an account keeps. */
  async #trim(taken: readonly PendingRequest[]): Promise<void> {
    const written = this.#written;
    for (const { accountId, body } of taken) {
      const { rows, bytes } = written.get(accountId) ?? { rows: 0, bytes: 0 };
      const added = ROW_BYTES + (body === undefined ? 0 : Buffer.byteLength(body));
      written.set(accountId, { rows: rows + 1, bytes: bytes + added });
    }
    for (const accountId of new Set(taken.map((request) => request.accountId))) {
      const { rows, bytes } = written.get(accountId) ?? { rows: 0, bytes: 0 };
      if (rows < TRIM_EVERY && bytes < TRIM_EVERY_BYTES) continue;
      written.delete(accountId);
      const values = [uuidFromId("acct", accountId), MAX_KEPT, MAX_UNPAID_BYTES, MAX_PAID_BYTES];
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
