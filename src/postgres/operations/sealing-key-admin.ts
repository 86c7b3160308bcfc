import type { Pool, PoolClient } from "pg";
import {
  KEY_PURPOSES,
  type KeyPurpose,
  type SealingKeyAdmin,
  type SealingKeyVersion,
} from "../../app/operations/operator-actions.ts";
import type { Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { ACTIVATION_MS } from "../payments/sealing-keys.ts";

/**
 * How long an instance that missed a rotation may use the old version, and then the longest life of a quote
 * (QUOTE_TTL_SECONDS) with an hour for its payment to become final, ms.
 */
const [STALE_MS, QUOTE_MS] = [60_000, 2 * 3_600_000];

interface VersionRow {
  version: number;
  active_from: Date;
  created_at: Date;
  active: boolean;
  /** When a later version took over; null for the newest. */
  replaced_at: Date | null;
  now: Date;
  working_keys: number;
  webhooks: number;
  watched_at: Date | null;
  /** Stored requests that it encrypts, and when the last of them expires. */
  stored: number;
  stored_until: Date | null;
}

interface Uses {
  readonly table: string;
  readonly workingKeys: string;
  readonly webhooks: string;
  readonly watchedAt: string;
  /** Requests of the log that a version encrypts. */
  readonly stored: string;
}

const FROM: Readonly<Record<KeyPurpose, Uses>> = {
  quotes: {
    table: "sealing_key",
    workingKeys: "0",
    webhooks: `(select count(*)::integer from webhook_endpoint
      where secret.version in (key_version, case when old_until > now() then old_key_version end))`,
    watchedAt: "(select max(looked_at) from treasury_watch)",
    stored: "request_log.key_version = secret.version and request_log.expires_at > now()",
  },
  // Keys without a version may have been signed by any.
  "api-keys": {
    table: "api_key_secret",
    workingKeys: `(select count(*)::integer from api_key
      where coalesce(secret_version, secret.version) = secret.version and revoked_at is null
        and (expires_at is null or expires_at > now()))`,
    webhooks: "0",
    watchedAt: "null::timestamptz",
    stored: "false",
  },
  receipts: {
    table: "signing_key",
    workingKeys: "0",
    webhooks: "0",
    watchedAt: "null::timestamptz",
    stored: "false",
  },
};

const WORK: Readonly<Record<KeyPurpose, string>> = {
  quotes: "seals new quotes",
  "api-keys": "signs new API keys",
  receipts: "signs new x402 offers and receipts",
};

/** Versioned secrets on PostgreSQL. Triggers notify every instance of a change. */
export class PostgresSealingKeyAdmin implements SealingKeyAdmin {
  readonly #pool: Pool;
  readonly #random: Random;

  constructor(pool: Pool, random: Random) {
    this.#pool = pool;
    this.#random = random;
  }

  async list(purpose: KeyPurpose | undefined): Promise<SealingKeyVersion[]> {
    const purposes = purpose === undefined ? KEY_PURPOSES : [purpose];
    const lists = await Promise.all(purposes.map((one) => versionsOf(this.#pool, one)));
    return lists.flat();
  }

  async rotate({ purpose, now }: { purpose: KeyPurpose; now: boolean }): Promise<SealingKeyVersion> {
    const { table } = FROM[purpose];
    return this.#exclusively(purpose, async (client) => {
      const { rows } = await client.query<{ version: number }>(
        `insert into ${table} (version, secret, active_from)
         select max(version) + 1, $1, now() + $2 * interval '1 millisecond' from ${table} returning version`,
        [Buffer.from(this.#random.bytes(32)), now ? 0 : ACTIVATION_MS],
      );
      return requireVersion(await versionsOf(client, purpose), rows[0]?.version ?? 0);
    });
  }

  async retire(key: Parameters<SealingKeyAdmin["retire"]>[0]): Promise<SealingKeyVersion> {
    const { purpose, version, force } = key;
    const { table } = FROM[purpose];
    return this.#exclusively(purpose, async (client) => {
      const found = requireVersion(await versionsOf(client, purpose), version);
      const { state, neededFor } = found;
      if (state !== "old")
        throw invalidField("key", `${version} is ${state}: ${neededFor ?? ""}; rotate first`);
      if (neededFor !== undefined && !force)
        throw invalidField("key", `${version} is still needed: ${neededFor}; --force retires it anyway`);
      await client.query(`delete from ${table} where version = $1`, [version]);
      return found;
    });
  }

  /** Runs in a transaction, one per purpose at a time. */
  async #exclusively<Result>(
    purpose: KeyPurpose,
    work: (client: PoolClient) => Promise<Result>,
  ): Promise<Result> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      await client.query("select pg_advisory_xact_lock(hashtextextended('toolgate ' || $1, 0))", [purpose]);
      const result = await work(client);
      await client.query("commit");
      return result;
    } catch (error) {
      await client.query("rollback").catch(() => {});
      throw error;
    } finally {
      client.release();
    }
  }
}

async function versionsOf(db: Pool | PoolClient, purpose: KeyPurpose): Promise<SealingKeyVersion[]> {
  const { table, workingKeys, webhooks, watchedAt, stored } = FROM[purpose];
  const { rows } = await db.query<VersionRow>(
    `select version, active_from, created_at, now() as now,
       version = (select max(version) from ${table} where active_from <= now()) as active,
       (select min(active_from) from ${table} later where later.version > secret.version) as replaced_at,
       ${workingKeys} as working_keys, ${webhooks} as webhooks,
       ${watchedAt} as watched_at,
       request.stored, request.stored_until
     from ${table} secret
     cross join lateral (
       select count(*)::integer as stored, max(expires_at) as stored_until from request_log where ${stored}
     ) request
     order by version desc`,
  );
  return rows.map((row) => {
    const { version, active_from: activeFrom, created_at: createdAt } = row;
    const replaced = row.replaced_at !== null && row.replaced_at <= row.now;
    const state = row.active ? "active" : replaced ? "old" : "pending";
    return { purpose, version, state, activeFrom, createdAt, neededFor: reasonOf(row, state, purpose) };
  });
}

/** Why a version may not be retired. */
function reasonOf(
  {
    now,
    active_from: activeFrom,
    replaced_at: replacedAt,
    working_keys: keys,
    webhooks,
    watched_at: watched,
    stored,
    stored_until: storedUntil,
  }: VersionRow,
  state: SealingKeyVersion["state"],
  purpose: KeyPurpose,
): string | undefined {
  const work = WORK[purpose];
  if (state === "active") return `it ${work}`;
  if (state === "pending" || replacedAt === null) return `it ${work} from ${instant(activeFrom)}`;
  if (purpose === "receipts") return "buyers verify the receipts that it signed";
  const until = new Date(replacedAt.getTime() + STALE_MS + (purpose === "quotes" ? QUOTE_MS : 0));
  if (now < until && purpose === "quotes")
    return `its quotes can be open or being paid until ${instant(until)}`;
  if (now < until) return `an instance can sign with it until ${instant(until)}`;
  if (watched !== null && watched < until)
    return `the treasury watch last read the chain at ${instant(watched)}`;
  if (stored > 0 && storedUntil !== null)
    return (
      `it encrypts params and results of ${stored} logged ${stored === 1 ? "request" : "requests"}, which ` +
      `become unreadable; the last one expires at ${instant(storedUntil)}`
    );
  if (webhooks > 0)
    return (
      `it seals secrets of ${webhooks} webhook ${webhooks === 1 ? "endpoint" : "endpoints"}, which a ` +
      "running gateway seals again within minutes"
    );
  if (keys > 0)
    return `it signed ${keys} working API ${keys === 1 ? "key" : "keys"} (keys list, keys rotate)`;
  return undefined;
}

function instant(at: Date): string {
  return at.toISOString();
}

function requireVersion(versions: readonly SealingKeyVersion[], version: number): SealingKeyVersion {
  const found = versions.find((one) => one.version === version);
  if (found) return found;
  const known = versions.map((one) => one.version).join(", ");
  throw new ToolgateError("NOT_FOUND", `there is no version ${version}; there are ${known}`);
}
