import type { Pool } from "pg";
import { AccountRequests, bodyOf } from "../../app/operations/account-requests.ts";
import type {
  ListedRequest,
  RequestDetails,
  RequestLogQueries,
  RequestQuery,
} from "../../app/operations/account-requests.ts";
import type { Metrics } from "../../app/operations/metrics.ts";
import type { SealingKeys } from "../../domain/payments/quote.ts";
import { RequestLogWriter } from "./request-log-writer.ts";
import type { Transport } from "../../app/operations/request-record.ts";
import { DEFAULT_REQUEST_LOG, isRequestBodies } from "../../domain/accounts/caller.ts";
import type { RequestLogSettings } from "../../domain/accounts/caller.ts";
import { SealedBodies } from "../../domain/accounts/sealed-bodies.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Page } from "../../domain/core/page.ts";
import { readCursor, pageOf } from "../database/pages.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import type { Parts } from "../database/parts.ts";

interface RequestRow {
  account_id: string;
  id: string;
  request_id: string;
  key_id: string | null;
  key_name: string | null;
  transport: Transport;
  method: string;
  tool: string | null;
  status: number;
  code: string | null;
  run_id: string | null;
  receipt_id: string | null;
  charged: bigint;
  trace_id: string | null;
  total_us: bigint;
  tool_us: bigint;
  payment_us: bigint;
  repeats: number;
  received_at: Date;
  expires_at: Date;
}

interface SealedRow extends RequestRow {
  key_version: number | null;
  sealed: Buffer | null;
}

const COLUMNS = /* sql */ `
  request.account_id, request.id, request.request_id, request.key_id, key.name as key_name,
  request.transport, request.method, request.tool, request.status, request.code, request.run_id,
  request.receipt_id, request.charged, request.trace_id, request.total_us, request.tool_us,
  request.payment_us, request.repeats, request.received_at, request.expires_at`;

/** Requests of account $1 that have not expired. */
const OWN = /* sql */ `
  from request_log request left join api_key key on key.id = request.key_id
  where request.account_id = $1 and request.expires_at > now()`;

const SEALED = "request.key_version, request.sealed";

/** An account has so few rows that a filter may read all of them. */
const LIST = /* sql */ `select ${COLUMNS} ${OWN} and request.id < $2
    and ($4::text is null or $4 = case
      when request.status < 400 then 'succeeded'
      when request.status = 402 then 'payment_required'
      when request.status < 500 then 'refused'
      else 'failed' end)
    and ($5::text is null or request.tool = $5)
    and ($6::uuid is null or request.key_id = $6)
    and request.received_at >= $7 and request.received_at < $8
    and request.charged >= $9
  order by request.id desc limit $3 + 1`;

const FIND = `select ${COLUMNS}, ${SEALED} ${OWN} and request.id = $2`;

const FIND_REQUEST = `select ${COLUMNS}, ${SEALED} ${OWN} and request.request_id = $2
  order by request.id desc limit 1`;

/** The request log on PostgreSQL. Statements are unnamed: filters decide the plan. */
export class PostgresRequestLog implements RequestLogQueries {
  readonly #pool: Pool;
  readonly #bodies: Pick<SealedBodies, "open">;

  /** @param pool of the primary: a standby has no rows of this table */
  constructor(pool: Pool, bodies: Pick<SealedBodies, "open">) {
    this.#pool = pool;
    this.#bodies = bodies;
  }

  async list(query: RequestQuery): Promise<Page<ListedRequest>> {
    const { accountId, limit, cursor, keyId } = query;
    const rows = await queryWithRetry<RequestRow>(this.#pool, {
      text: LIST,
      values: [
        uuidFromId("acct", accountId),
        readCursor("requests", cursor),
        limit,
        query.outcome,
        query.tool,
        keyId === undefined ? undefined : uuidFromId("key", keyId),
        query.from ?? "-infinity",
        query.to ?? "infinity",
        query.minCharged ?? 0n,
      ],
    });
    return pageOf("requests", limit, rows, toRequest);
  }

  async find(accountId: string, id: string): Promise<RequestDetails | undefined> {
    const uuid = uuidOf("log", id);
    const [row] = await queryWithRetry<SealedRow>(this.#pool, {
      text: uuid === undefined ? FIND_REQUEST : FIND,
      values: [uuidFromId("acct", accountId), uuid ?? id],
    });
    if (!row) return undefined;
    const { key_version: version, sealed } = row;
    const request = toRequest(row);
    if (version === null || sealed === null) return { ...request, body: undefined };
    const text = await this.#bodies.open(accountId, request.id, { version, sealed });
    return { ...request, body: bodyOf(text) };
  }

  async delete(accountId: string, id: string | undefined): Promise<number> {
    const uuid = id === undefined ? undefined : uuidOf("log", id);
    if (id !== undefined && uuid === undefined) return 0;
    const rows = await queryWithRetry<{ id: string }>(this.#pool, {
      text: `delete from request_log where account_id = $1 and ($2::uuid is null or id = $2) returning id`,
      values: [uuidFromId("acct", accountId), uuid],
    });
    return rows.length;
  }

  async settings(accountId: string): Promise<RequestLogSettings> {
    const [row] = await queryWithRetry<{ bodies: string; hours: number }>(this.#pool, {
      text: "select request_bodies as bodies, request_hours as hours from account where id = $1",
      values: [uuidFromId("acct", accountId)],
    });
    return row && isRequestBodies(row.bodies)
      ? { bodies: row.bodies, hours: row.hours }
      : DEFAULT_REQUEST_LOG;
  }

  async setSettings(accountId: string, { bodies, hours }: RequestLogSettings): Promise<void> {
    await queryWithRetry(this.#pool, {
      text: `with settings as (
               update account set request_bodies = $2, request_hours = $3 where id = $1)
             update request_log set expires_at = received_at + $3 * interval '1 hour'
             where account_id = $1 and expires_at > received_at + $3 * interval '1 hour'`,
      values: [uuidFromId("acct", accountId), bodies, hours],
    });
  }
}

interface OpenOptions extends Pick<Parts, "pool" | "clock" | "random" | "log"> {
  /** For lists, on the primary. */
  readonly reading: Pool;
  readonly sealingKeys: SealingKeys;
  readonly metrics?: Metrics | undefined;
}

/** Opens the request log; its writer is started later. */
export function openRequestLog({ pool, reading, sealingKeys, clock, random, log, metrics }: OpenOptions) {
  const bodies = new SealedBodies(sealingKeys, random, "request-log");
  const requests = new AccountRequests(clock, random, metrics);
  return {
    writer: new RequestLogWriter({ pool, requests, bodies, log }),
    ports: { accountRequests: requests, requestLog: new PostgresRequestLog(reading, bodies) },
  };
}

function toRequest(row: RequestRow): ListedRequest {
  const { key_id: keyId, run_id: runId, receipt_id: receiptId } = row;
  return {
    id: idFromUuid("log", row.id),
    accountId: idFromUuid("acct", row.account_id),
    requestId: row.request_id,
    keyId: keyId === null ? undefined : idFromUuid("key", keyId),
    keyName: row.key_name ?? "",
    transport: row.transport,
    method: row.method,
    tool: row.tool ?? undefined,
    status: row.status,
    code: row.code ?? undefined,
    runId: runId === null ? undefined : idFromUuid("run", runId),
    receiptId: receiptId === null ? undefined : idFromUuid("rcpt", receiptId),
    charged: row.charged,
    traceId: row.trace_id ?? undefined,
    ms: Number(row.total_us) / 1000,
    toolMs: Number(row.tool_us) / 1000,
    paymentMs: Number(row.payment_us) / 1000,
    receivedAt: row.received_at,
    expiresAt: row.expires_at,
    repeats: row.repeats,
  };
}
