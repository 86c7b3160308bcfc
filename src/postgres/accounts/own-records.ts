import type { Pool } from "pg";
import type { OwnRecord, OwnRecordQueries } from "../../app/calls/history.ts";
import type { SearchedRecord } from "../../app/operations/request-timeline.ts";
import { KEY_PREFIX } from "../../domain/accounts/api-key.ts";
import { uuidOf, type IdPrefix } from "../../domain/core/ids.ts";
import { SOLANA } from "../../domain/payments/payment-id.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, signatureFrom, uuidFromId } from "../database/row-mapping.ts";
import { accountMonths, dashed, queryBeside, ArchivedRows } from "../archived/archived-rows.ts";
import type { LoadedRows, WantedRows } from "../archived/archived-rows.ts";
import { AFTER, idsAround } from "../database/entry-ids.ts";

const RUN = "select 'run' as kind, id, null as quote_id, tool as title, created_at from run";

/** Every statement reads account $1 only. */
const BY_RUN = `${RUN} where account_id = $1 and id = $2`;
const BY_LOGGED_REQUEST = `
  select 'request' as kind, id, null as quote_id, coalesce(tool, method) as title, received_at as created_at
  from request_log where account_id = $1 and request_id = $2 and expires_at > now() limit 20`;
const BY_REQUEST = `
  (${RUN} where account_id = $1 and id >= $3 and id < $4 and request_id = $2 order by id limit 20)
  union all (${BY_LOGGED_REQUEST})`;
const BY_PROXY_REQUEST = `
  (${RUN} where account_id = $1 and request_id = $2 and not starts_with(request_id, 'req_')
  order by id limit 20) union all (${BY_LOGGED_REQUEST})`;
const BY_QUOTE = `
  ${RUN} where account_id = $1 and id >= $3 and id < $4 and quote_id = $2 order by id limit 20`;
const BY_RECEIPT = `
  select 'receipt' as kind, id, null as quote_id, tool as title, created_at from receipt
  where account_id = $1 and id = $2`;
const BY_TRANSACTION = `
  select 'receipt' as kind, id, null as quote_id, tool as title, created_at from receipt
  where account_id = $1 and network = $2 and reference = $3
  union all
  select 'deposit', null, quote_id, '', created_at from payment
  where account_id = $1 and network = $2 and reference = $3 and starts_with(quote_id, 'dep_')
  limit 20`;
const BY_DEPOSIT = `
  select 'deposit' as kind, id, null as quote_id, '' as title, created_at from deposit
  where account_id = $1 and id = $2`;
const BY_KEY = `
  select 'key' as kind, id, null as quote_id, name as title, created_at from api_key
  where account_id = $1 and (id = $2 or (prefix ~>=~ $3 and prefix ~<~ $4)) order by id limit 20`;

const PREFIXES = {
  run: "run",
  receipt: "rcpt",
  deposit: "dep",
  key: "key",
  request: "log",
} as const satisfies Record<OwnRecord["kind"], IdPrefix>;

interface RecordRow {
  kind: OwnRecord["kind"];
  id: string | null;
  quote_id: string | null;
  title: string;
  created_at: Date;
}

/** Records of an account on PostgreSQL. Statements are unnamed: what is searched for decides the plan. */
export class PostgresOwnRecords implements OwnRecordQueries {
  readonly #pool: Pool;
  readonly #archived: ArchivedRows;

  constructor(pool: Pool, archived: ArchivedRows) {
    this.#pool = pool;
    this.#archived = archived;
  }

  async find(accountId: string, record: SearchedRecord): Promise<OwnRecord[]> {
    const statement = statementOf(record);
    if (!statement) return [];
    const [text, ...values] = statement;
    const account = uuidFromId("acct", accountId);
    const query = { text, values: [account, ...values] };
    const rows = await queryWithRetry<RecordRow>(this.#pool, query);
    const loaded = rows.length > 0 ? undefined : await this.#archivedRows(account, record);
    const found = loaded ? await queryBeside<RecordRow>(this.#pool, query, loaded) : rows;
    return found.map(({ kind, id, quote_id: quoteId, title, created_at: createdAt }) => ({
      kind,
      id: quoteId ?? (id === null ? "" : idFromUuid(PREFIXES[kind], id)),
      title,
      createdAt,
    }));
  }

  async #archivedRows(account: string, record: SearchedRecord): Promise<LoadedRows | undefined> {
    const range = archivedRange(record);
    const months = range && (await accountMonths(this.#pool, account));
    if (!range || !months || ArchivedRows.reaching(months, range).length === 0) return undefined;
    return this.#archived.load(account, months, { ...range, order: "oldest", count: ARCHIVED_RUNS });
  }
}

/** How many archived runs a request or quote is looked for among. */
const ARCHIVED_RUNS = 10_000;

/** The ids of the archived rows that can belong to a record; undefined: its time is not known. */
function archivedRange(record: SearchedRecord): Pick<WantedRows, "table" | "from" | "to"> | undefined {
  switch (record.kind) {
    case "run":
    case "receipt": {
      const id = dashed(uuidFromId(record.kind === "run" ? "run" : "rcpt", record.id));
      return { table: record.kind, from: id, to: id };
    }
    case "request":
    case "quote": {
      const first = record.kind === "quote" ? record.quote.issuedAt : record.receivedAt;
      if (first === undefined) return undefined;
      const [from, to] = idsAround(first, record.kind === "quote" ? record.quote.expiresAt : first);
      return { table: "run", from: dashed(from), to: dashed(to) };
    }
    default:
      return undefined;
  }
}

/** Returns the statement and its values after the account; undefined for what has no page. */
function statementOf(record: SearchedRecord): [text: string, ...values: unknown[]] | undefined {
  switch (record.kind) {
    case "run":
      return [BY_RUN, uuidFromId("run", record.id)];
    case "receipt":
      return [BY_RECEIPT, uuidFromId("rcpt", record.id)];
    case "deposit":
      return [BY_DEPOSIT, uuidFromId("dep", record.id)];
    case "request":
      return record.receivedAt === undefined
        ? [BY_PROXY_REQUEST, record.id]
        : [BY_REQUEST, record.id, ...idsAround(record.receivedAt)];
    case "quote": {
      const { quoteId, issuedAt, expiresAt } = record.quote;
      return [BY_QUOTE, quoteId, ...idsAround(issuedAt, expiresAt)];
    }
    case "transaction":
      return [BY_TRANSACTION, SOLANA, signatureFrom(record.signature)];
    case "key": {
      const prefix = record.id.startsWith(KEY_PREFIX) ? record.id : undefined;
      return [BY_KEY, uuidOf("key", record.id), prefix, prefix && prefix + AFTER];
    }
    default:
      return undefined;
  }
}
