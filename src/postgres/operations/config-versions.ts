import type { Pool } from "pg";
import type {
  AppliedConfig,
  ConfigSource,
  LiveInstance,
  ConfigVersion,
  ConfigVersions,
  NewConfigVersion,
} from "../../app/operations/config-versions.ts";
import type { Tiers } from "../../domain/accounts/caller.ts";
import { invalidField } from "../../domain/core/errors.ts";
import type { Page, PageRequest } from "../../domain/core/page.ts";
import { keyedPageOf, readCursor } from "../database/pages.ts";
import { isForeignKeyViolation } from "../database/database-errors.ts";
import type { Notifications } from "../database/notifications.ts";
import { queryWithRetry } from "../database/retry.ts";
import type { SessionLock } from "../ledger/leases.ts";
import { instanceOf, SESSION } from "../ledger/session-name.ts";

interface VersionRow {
  version: number;
  document: string;
  checksum: string;
  source: ConfigSource;
  actor: string;
  note: string | null;
  applied_at: Date;
}

const COLUMNS = `version, document, encode(checksum, 'hex') as checksum, source, actor, note, applied_at
  from config_version`;

/** Versions of the configuration on PostgreSQL. */
export class PostgresConfigVersions implements ConfigVersions {
  readonly #pool: Pool;
  readonly #notifications: Pick<Notifications, "live">;
  readonly #session: Pick<SessionLock, "show">;
  readonly #listeners = new Set<() => void>();

  constructor(pool: Pool, notifications: Notifications, session: Pick<SessionLock, "show">) {
    this.#pool = pool;
    this.#session = session;
    this.#notifications = notifications;
    const onMessage = () => this.#notify();
    notifications.subscribe({ channel: "toolgate_config", onMessage, onGap: onMessage });
  }

  get live(): boolean {
    return this.#notifications.live;
  }

  async newest(): Promise<ConfigVersion | undefined> {
    const [row] = await this.#query<VersionRow>(
      "config-newest",
      `select ${COLUMNS} order by version desc limit 1`,
      [],
    );
    return row && versionOf(row);
  }

  async newestNumber(): Promise<number> {
    const [row] = await this.#query<{ version: number }>(
      "config-newest-number",
      "select coalesce(max(version), 0) as version from config_version",
      [],
    );
    return row?.version ?? 0;
  }

  async find(version: number): Promise<ConfigVersion | undefined> {
    const [row] = await this.#query<VersionRow>("config-find", `select ${COLUMNS} where version = $1`, [
      version,
    ]);
    return row && versionOf(row);
  }

  async list({ limit, cursor }: PageRequest): Promise<Page<ConfigVersion>> {
    const before = Number.parseInt(readCursor("config", cursor), 16);
    const rows = await this.#query<VersionRow>(
      "config-list",
      `select ${COLUMNS} where version < $1::bigint order by version desc limit $2`,
      [before, limit + 1],
    );
    const keyOf = ({ version }: VersionRow) => version.toString(16).padStart(8, "0");
    return keyedPageOf("config", limit, rows, versionOf, keyOf);
  }

  async tiersMissed(tiers: Tiers): Promise<{ name: string; accounts: number }[]> {
    return this.#query(
      "config-tiers-missed",
      `select name, count(*)::integer as accounts from rate_tier join account on tier = name
       where name <> all ($1::text[]) group by name order by name`,
      [Object.keys(tiers)],
    );
  }

  async apply({ document, source, actor, note, expected, tiers }: NewConfigVersion): Promise<AppliedConfig> {
    const [row] = await this.#query<AppliedConfig>(
      "config-apply",
      "select outcome, version from config_apply($1, $2, $3, $4, $5, $6)",
      [document, source, actor, note ?? null, expected ?? null, JSON.stringify(tiers)],
    ).catch((error: unknown) => {
      if (!isForeignKeyViolation(error)) throw error;
      throw invalidField("tiers", "accounts have a tier that the document lacks; plan again");
    });
    if (!row) throw new Error("config_apply returned no row");
    return row;
  }

  use(version: number): void {
    this.#session.show(version);
  }

  async instances(): Promise<readonly LiveInstance[]> {
    const rows = await this.#query<{ name: string }>(
      "config-instances",
      `select application_name as name from pg_stat_activity
       where datname = current_database() and starts_with(application_name, $1) order by 1`,
      [SESSION],
    );
    return rows.map(({ name }) => instanceOf(name));
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }

  #query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return queryWithRetry<Row>(this.#pool, { name, text, values });
  }
}

function versionOf({ note, applied_at: appliedAt, ...row }: VersionRow): ConfigVersion {
  return { ...row, note: note ?? undefined, appliedAt };
}
