import { hash } from "node:crypto";
import type { ConnectedKey, OAuthRecord, OAuthRecords, RecordModel } from "../../app/oauth/oauth-records.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import type { Parts } from "../database/parts.ts";
import { queryWithRetry } from "../database/retry.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";

/** The newest records of one kind that stay: of a key, and of what strangers store before a consent. */
const [MAX_OF_KEY, MAX_UNUSED] = [200, 5_000];

/**
 * Of a record: it was not used up; or it is a refresh token whose answer may have been lost, or whose client
 * runs twice: used up a moment ago, and what it was exchanged for is unused.
 */
const UNUSED = `(record.consumed_at is null or (
  record.model = 'RefreshToken' and record.consumed_at > now() - interval '10 seconds' and not exists (
    select from oauth_record later
    where later.key_id = record.key_id and later.model = record.model and later.consumed_at is not null
      and coalesce((later.payload ->> 'rotations')::int, 0)
        > coalesce((record.payload ->> 'rotations')::int, 0))))`;

/** Tokens, codes, clients and interactions on PostgreSQL, by the SHA-256 of their identifiers. */
export class PostgresOAuthRecords implements OAuthRecords {
  readonly #pool: Parts["pool"];

  constructor({ pool }: Pick<Parts, "pool">) {
    this.#pool = pool;
  }

  async save(
    model: RecordModel,
    id: string,
    { payload, expiresAt, keyId }: { payload: JsonObject; expiresAt: Date; keyId: string | undefined },
  ): Promise<void> {
    const key = keyId === undefined ? null : uuidFromId("key", keyId);
    await queryWithRetry(this.#pool, {
      name: "oauth-save",
      text: `insert into oauth_record (id, model, key_id, payload, expires_at) values ($1, $2, $3, $4, $5)
             on conflict (id) do update set payload = excluded.payload, expires_at = excluded.expires_at`,
      values: [bytesOf(id), model, key, JSON.stringify(payload), expiresAt],
    });
    await queryWithRetry(
      this.#pool,
      key === null
        ? {
            name: "oauth-trim-unused",
            text: `delete from oauth_record where id in (
                     select id from oauth_record
                     where model = $1 and key_id is null and expires_at < 'infinity'
                     order by created_at desc offset $2)`,
            values: [model, MAX_UNUSED],
          }
        : {
            name: "oauth-trim-key",
            text: `delete from oauth_record where id in (
                     select id from oauth_record where key_id = $1 and model = $2
                     order by created_at desc offset $3)`,
            values: [key, model, MAX_OF_KEY],
          },
    );
  }

  async find(model: RecordModel, id: string): Promise<OAuthRecord | undefined> {
    const [row] = await queryWithRetry<{ payload: JsonObject; consumed_at: Date | null }>(this.#pool, {
      name: "oauth-find",
      text: `select payload, case when not ${UNUSED} then consumed_at end as consumed_at
             from oauth_record record where id = $1 and model = $2 and expires_at > now()`,
      values: [bytesOf(id), model],
    });
    return row && { payload: row.payload, consumedAt: row.consumed_at ?? undefined };
  }

  /** Not retried after a lost response: the first try may have consumed it. */
  async consume(model: RecordModel, id: string): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
      name: "oauth-consume",
      text: `update oauth_record record set consumed_at = coalesce(consumed_at, now())
             where id = $1 and model = $2 and ${UNUSED}`,
      values: [bytesOf(id), model],
    });
    return rowCount === 1;
  }

  /** Not retried: the first try may have answered it. */
  async answer(interactionId: string, result: JsonObject): Promise<boolean> {
    const { rows } = await this.#pool.query<{ answered: boolean }>({
      name: "oauth-answer",
      text: "select oauth_answer($1, null, $2) as answered",
      values: [bytesOf(interactionId), JSON.stringify(result)],
    });
    return rows[0]?.answered === true;
  }

  async remove(model: RecordModel, id: string): Promise<boolean> {
    // Instances cache access tokens until their key changes.
    const { rowCount } = await this.#pool.query({
      name: "oauth-remove",
      text: `with gone as (delete from oauth_record where id = $1 and model = $2 returning key_id)
             select pg_notify('toolgate_key', 'key:' || encode(key.sha256, 'hex'))
             from gone left join api_key key on key.id = gone.key_id`,
      values: [bytesOf(id), model],
    });
    return rowCount === 1;
  }

  async connectedKey(keyId: string): Promise<ConnectedKey | undefined> {
    const key = uuidOf("key", keyId);
    if (key === undefined) return undefined;
    const [row] = await queryWithRetry<ConnectedRow>(this.#pool, {
      name: "oauth-connected-key",
      text: `select key.account_id, key.scopes, key.expires_at, used.client_id, used.resource
             from oauth_grant used join api_key key on key.id = used.key_id
             where used.key_id = $1 and key.revoked_at is null
               and (key.expires_at is null or key.expires_at > now())`,
      values: [key],
    });
    return (
      row && {
        accountId: idFromUuid("acct", row.account_id),
        clientId: row.client_id,
        resource: row.resource,
        scopes: row.scopes,
        expiresAt: row.expires_at ?? undefined,
      }
    );
  }
}

interface ConnectedRow {
  account_id: string;
  client_id: string;
  resource: string;
  scopes: string[];
  expires_at: Date | null;
}

/** SHA-256 of an identifier. */
export function bytesOf(id: string): Buffer {
  return hash("sha256", id, "buffer");
}
