import { createHash } from "node:crypto";
import { base58 } from "@scure/base";
import type { InferEntity } from "@mikro-orm/core";
import type { MikroORM } from "@mikro-orm/postgresql";
import type { ApiKey, ApiKeys } from "../app/ports.ts";
import { KEY_PREFIX } from "../domain/api-key.ts";
import type { Clock, Random } from "../domain/clock.ts";
import { ToolgateError } from "../domain/errors.ts";
import { newId, uuidOf } from "../domain/ids.ts";
import { isScope, type Scope } from "../domain/scope.ts";
import { AccountEntity } from "./entities/account.ts";
import { ApiKeyEntity } from "./entities/api-key.ts";
import { idFrom, uuidFrom } from "./rows.ts";

/** Characters of a key that are kept for recognition: too few to guess the rest from. */
const SHOWN = KEY_PREFIX.length + 4;

/**
 * What is stored of a key, and what it is looked up by. A key has 256 random bits, so a plain hash cannot be reversed. Nor does the
 * time of a look-up help to guess: an index or a map compares hashes, and who could choose the hash of a guess could break SHA-256.
 */
export function hashOf(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

/** The operator's key work. What changes here reaches every instance's memory of API keys by a trigger. */
export class PostgresApiKeys implements ApiKeys {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(orm: MikroORM, clock: Clock, random: Random) {
    this.#orm = orm;
    this.#clock = clock;
    this.#random = random;
  }

  async create(wanted: {
    accountId: string;
    name: string;
    scopes: readonly Scope[];
  }): Promise<{ key: ApiKey; secret: string }> {
    const em = this.#orm.em.fork();
    const account = uuidOf("acct", wanted.accountId);
    if (account === undefined || (await em.count(AccountEntity, { id: account })) === 0) {
      throw new ToolgateError("NOT_FOUND", "there is no such account");
    }
    const secret = KEY_PREFIX + base58.encode(this.#random.bytes(32));
    const id = uuidFrom("key", newId("key", this.#clock, this.#random));
    const row = em.create(ApiKeyEntity, {
      id,
      account,
      sha256: hashOf(secret),
      prefix: secret.slice(0, SHOWN),
      name: wanted.name,
      scopes: [...wanted.scopes],
      createdAt: new Date(this.#clock.now()),
    });
    await em.persist(row).flush();
    return { key: keyOf(row), secret };
  }

  async list(accountId: string | undefined): Promise<ApiKey[]> {
    const account = accountId === undefined ? undefined : uuidOf("acct", accountId);
    if (accountId !== undefined && account === undefined) return [];
    const rows = await this.#orm.em
      .fork()
      .find(ApiKeyEntity, account === undefined ? {} : { account }, { orderBy: { id: "desc" } });
    return rows.map(keyOf);
  }

  async revoke(keyId: string): Promise<ApiKey> {
    const id = uuidOf("key", keyId);
    const em = this.#orm.em.fork();
    if (id !== undefined)
      await em.nativeUpdate(ApiKeyEntity, { id, revokedAt: null }, { revokedAt: new Date(this.#clock.now()) });
    const row = id === undefined ? null : await em.findOne(ApiKeyEntity, { id });
    if (!row) throw new ToolgateError("NOT_FOUND", "there is no such API key");
    return keyOf(row);
  }
}

function keyOf(row: InferEntity<typeof ApiKeyEntity>): ApiKey {
  return {
    keyId: idFrom("key", row.id),
    accountId: idFrom("acct", row.account),
    prefix: row.prefix,
    name: row.name,
    scopes: row.scopes.filter(isScope),
    createdAt: row.createdAt,
    revokedAt: row.revokedAt ?? undefined,
  };
}
