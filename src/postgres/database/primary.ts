import { DatabaseError, type ClientBase, type Pool, Client } from "pg";
import type { RestoreMark, Restores } from "../../app/operations/operations-queries.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { idFromUuid } from "./row-mapping.ts";
import { READ_ONLY } from "./database-errors.ts";

/** SQLSTATE feature_not_supported and undefined_function: a database without timelines. */
const UNSUPPORTED = new Set(["0A000", "42883"]);

/** The name of the WAL file changes at a promotion, and the timeline in pg_control some time later. */
const IDENTITY = `select current_setting('transaction_read_only')::boolean as "readOnly",
  system_identifier || '/' || (select oid from pg_database where datname = current_database()) as cluster,
  case when pg_is_in_recovery() then 0 else
    ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline
  from pg_control_system()`;

interface Identity {
  readonly readOnly: boolean;
  /** System identifier and the database's oid, which a standby shares; empty in a database without one. */
  readonly cluster: string;
  /** Increases with every promotion; 0 on a standby, and in a database without timelines. */
  readonly timeline: number;
}

const UNKNOWN: Identity = { readOnly: false, cluster: "", timeline: 0 };

export async function identityOf(database: Pool | ClientBase): Promise<Identity> {
  try {
    return (await database.query<Identity>(IDENTITY)).rows[0] ?? UNKNOWN;
  } catch (error) {
    if (error instanceof DatabaseError && UNSUPPORTED.has(error.code ?? "")) return UNKNOWN;
    throw error;
  }
}

/**
 * Recovery to a moment leaves its target in the settings, which a standby that takes over does not have; a
 * restore to the end of the archive looks like a failover, so it has to set toolgate.restored. A dump carries
 * the identifiers of the database that it was taken from ($1: this one's, empty if it has none); older ones
 * only that of the cluster.
 */
const MARK = `
  with found as (
    select left(concat_ws(', ', nullif(current_setting('toolgate.restored', true), ''), (
      select string_agg(name || ' ' || setting, ', ' order by name) from pg_settings
      where name in ('recovery_target', 'recovery_target_lsn', 'recovery_target_name',
        'recovery_target_time', 'recovery_target_xid') and setting <> ''
    ), (
      select 'cluster ' || case when cluster like '%/%' then $1 else split_part($1, '/', 1) end
      from schema_version
      where cluster not in ('', $1, split_part($1, '/', 1)) and $1 <> '' order by version desc limit 1
    )), 200) as mark
  )
  select mark, (
    select max(at) from operator_action where action = 'database.reconcile' and target = mark
  ) as "reconciledAt"
  from found where mark <> ''`;

/** Returns what a database says about its restore. @throws DatabaseError without a schema */
export async function restoreMark(database: Pool | ClientBase): Promise<RestoreMark | undefined> {
  const { cluster } = await identityOf(database);
  const { rows } = await database.query<RestoreMark>(MARK, [cluster]);
  return rows[0];
}

export class PostgresRestores implements Restores {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  mark(): Promise<RestoreMark | undefined> {
    return restoreMark(this.#pool);
  }

  missingActions(actionIds: readonly string[]): Promise<string[]> {
    const text = "select id from unnest($1::uuid[]) id except select id from operator_action";
    return this.#missing("act", actionIds, text);
  }

  missingReceipts(receiptIds: readonly string[]): Promise<string[]> {
    const text = `select id from unnest($1::uuid[]) id
        where not exists (select from receipt where receipt.id = id.id)
        and not exists (select from archive_month where id.id between first_receipt and last_receipt)`;
    return this.#missing("rcpt", receiptIds, text);
  }

  async #missing(kind: "act" | "rcpt", ids: readonly string[], text: string): Promise<string[]> {
    const uuids = ids.flatMap((id) => uuidOf(kind, id) ?? []);
    const { rows } = await this.#pool.query<{ id: string }>(text, [uuids]);
    return rows.map(({ id }) => idFromUuid(kind, id));
  }
}

/** How long a server may take to say whether it is the primary, ms. */
const ASK_MS = 1_500;

/** SQLSTATE sqlserver_rejected_establishment_of_sqlconnection. */
const REJECTED = "08004";

/**
 * Finds the primary among the servers of a URL, and keeps every connection on it. After a promotion
 * connections to the old primary end, and new ones to it are refused: it may still accept writes.
 */
export class Primary {
  readonly urls: readonly [string, ...string[]];
  readonly #clients = new Set<Client>();
  /** The server of several that was the primary; undefined: not known. */
  #current: string | undefined;
  #finding: Promise<string> | undefined;
  #latest: { readonly cluster: string; readonly timeline: number } | undefined;
  #servingSince: Date | undefined;

  constructor(urls: readonly [string, ...string[]]) {
    this.urls = urls;
  }

  /** Returns where to connect. @throws Error when no server is the primary */
  async address(): Promise<Pick<Client, "host" | "port">> {
    const [only, ...others] = this.urls;
    const url = others.length === 0 ? only : (this.#current ?? (await this.#find()));
    return new Client({ connectionString: url });
  }

  /** Accepts a new connection. @throws Error when its server is not the primary */
  async admit(client: Client): Promise<void> {
    const { cluster, timeline } = await this.#identify(client);
    if (timeline > (this.#latest?.timeline ?? timeline)) this.drop("the primary has changed");
    // A restore ends every connection.
    if (timeline > 0 && this.#clients.size === 0) await this.#refuseRestored(client);
    if (timeline > 0) this.#latest = { cluster, timeline };
    this.#clients.add(client);
    client.once("end", () => this.#clients.delete(client));
  }

  /**
   * Says since when this process serves calls, if it does. From then on a database that was restored
   * meanwhile is refused: what this process has cached may never have happened there.
   */
  serve(since: Date | undefined): void {
    this.#servingSince = since;
  }

  /** A connection failed: the next one asks all servers. */
  lost(): void {
    this.#current = undefined;
  }

  /** Ends every connection. Running statements fail as on a lost connection. */
  drop(reason: string): void {
    this.#current = undefined;
    const clients = [...this.#clients];
    this.#clients.clear();
    for (const client of clients) {
      // A pool removes an idle connection at an error.
      client.emit("error", new Error(`Connection terminated: ${reason}`));
      client.end().catch(() => {});
    }
  }

  /** @throws Error when the server is not the primary; of several, a standby is not either */
  async #identify(client: Client): Promise<Identity> {
    const identity = await identityOf(client);
    if (identity.readOnly && this.urls.length > 1)
      throw Object.assign(new Error("this server is a standby"), { code: READ_ONLY });
    if (!this.#latest || identity.timeline === 0) return identity;
    if (identity.cluster !== this.#latest.cluster) throw rejected("this is another database than before");
    if (identity.timeline < this.#latest.timeline)
      throw rejected("this server was the primary until another one was promoted");
    return identity;
  }

  /** @throws Error when the database was restored since this process serves */
  async #refuseRestored(client: Client): Promise<void> {
    const since = this.#servingSince;
    if (since === undefined) return;
    const restored = await restoreMark(client);
    if (restored && (restored.reconciledAt === null || restored.reconciledAt > since))
      throw rejected("this database was restored from a backup: run after-restore, then restart");
  }

  #find(): Promise<string> {
    this.#finding ??= Promise.any(this.urls.map((url) => this.#ask(url)))
      .then((url) => (this.#current = url))
      .catch((error: unknown) => {
        throw error instanceof AggregateError ? error.errors[0] : error;
      })
      .finally(() => (this.#finding = undefined));
    return this.#finding;
  }

  /** @throws Error unless the server is the primary */
  async #ask(url: string): Promise<string> {
    const client = new Client({
      connectionString: url,
      connectionTimeoutMillis: ASK_MS,
      query_timeout: ASK_MS,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      await this.#identify(client);
      return url;
    } finally {
      client.end().catch(() => {});
    }
  }
}

function rejected(message: string): Error {
  return Object.assign(new Error(message), { code: REJECTED });
}
