import type { InferEntity } from "@mikro-orm/core";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import {
  type ApiKey,
  type ApiKeys,
  type KeyUsage,
  type ListedKey,
  MAX_ACTIVE_KEYS,
  type Rotation,
} from "../app/ports.ts";
import { type KeySecret, newApiKey, SHOWN_LENGTH } from "../domain/api-key.ts";
import type { Clock, Random } from "../domain/clock.ts";
import { invalidField, ToolgateError } from "../domain/errors.ts";
import { newId, uuidOf } from "../domain/ids.ts";
import type { NewKey } from "../domain/new-key.ts";
import { isScope } from "../domain/scope.ts";
import { AccountEntity } from "./entities/account.ts";
import { ApiKeyEntity } from "./entities/api-key.ts";
import { KeyUseEntity } from "./entities/key-use.ts";
import { hashOf } from "./key-hash.ts";
import { limitsOf, limitsRow } from "./key-limits.ts";
import { idFromUuid, uuidFromId } from "./row-mapping.ts";
import { AccountQueue } from "./account-queue.ts";

type KeyRow = InferEntity<typeof ApiKeyEntity>;

/**
 * Keys that an account may make within a day, and how many of those that no longer work are listed: whoever makes and revokes them by script
 * fills neither the table nor the memory.
 */
const [MAX_PER_DAY, MAX_INACTIVE_LISTED] = [1_000, 500];

const DAY_MS = 86_400_000;

/** The secrets that sign keys. */
export interface KeySecrets {
  /** The one that signs new keys. */
  current(): KeySecret;
}

/** What a key is made of. */
interface Made extends NewKey {
  account: string;
  /** Whose count of what is spent on a day it shares; its own otherwise. */
  budgetId?: string | null | undefined;
}

/** What a key has cost; sums come as text. */
interface FiguresRow {
  id: string;
  day_used: string;
  spent: string;
  calls: string;
}

const FIGURES = /* sql */ `
  select key.id, coalesce(budget.spent, 0) as day_used, coalesce(charged.spent, 0) as spent, coalesce(charged.calls, 0) as calls
  from api_key key
  left join key_budget budget on budget.budget_id = key.budget_id and budget.day = (now() at time zone 'utc')::date
  left join (
    select key_id, sum(price) as spent, count(*) as calls from run
    where account_id = ? and status = 'completed' and price > 0 group by key_id
  ) charged on charged.key_id = key.id
  where key.id = any (?::uuid[])`;

/** The work with API keys. What changes here reaches every instance's memory of API keys by a trigger. */
export class PostgresApiKeys implements ApiKeys {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #secrets: KeySecrets;
  readonly #turns = new AccountQueue();
  /** The last time that figures of keys are added up. */
  #lastAdded: Promise<unknown> = Promise.resolve();

  constructor(orm: MikroORM, clock: Clock, random: Random, secrets: KeySecrets) {
    this.#orm = orm;
    this.#clock = clock;
    this.#random = random;
    this.#secrets = secrets;
  }

  async create({
    accountId,
    ...wanted
  }: NewKey & { accountId: string }): Promise<{ key: ApiKey; secret: string }> {
    const account = uuidOf("acct", accountId);
    return this.#orm.em.fork().transactional(async (em) => {
      if (account === undefined || (await em.count(AccountEntity, { id: account })) === 0)
        throw new ToolgateError("NOT_FOUND", "there is no such account");
      await this.#demandRoom(em, account);
      const { row, secret } = this.#make(em, { account, ...wanted });
      await em.flush();
      return { key: keyOf(row), secret };
    });
  }

  async list(accountId: string | undefined): Promise<ListedKey[]> {
    const account = accountId === undefined ? undefined : uuidOf("acct", accountId);
    if (accountId !== undefined && account === undefined) return [];
    const em = this.#orm.em.fork();
    const rows = await this.#listed(em, account);
    const uses = await em.find(
      KeyUseEntity,
      account === undefined ? {} : { keyId: { $in: rows.map(({ id }) => id) } },
    );
    const used = new Map(uses.map(({ keyId, lastUsedAt }) => [keyId, lastUsedAt]));
    return rows.map((row) => ({ ...keyOf(row), lastUsedAt: used.get(row.id) }));
  }

  /** All keys; of one account those that work, and the newest of those that do not. */
  async #listed(em: EntityManager, account: string | undefined): Promise<KeyRow[]> {
    if (account === undefined) return em.find(ApiKeyEntity, {}, { orderBy: { id: "desc" } });
    const now = new Date(this.#clock.now());
    const works = { account, revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] };
    const ended = { account, $or: [{ revokedAt: { $ne: null } }, { expiresAt: { $lte: now } }] };
    const good = await em.find(ApiKeyEntity, works);
    const bad = await em.find(ApiKeyEntity, ended, { orderBy: { id: "desc" }, limit: MAX_INACTIVE_LISTED });
    // Identifiers are in the order of time. One that was revoked between the two is there once.
    const rows = new Map([...good, ...bad].map((row) => [row.id, row]));
    return [...rows.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** One of all accounts at a time: the other connection is for who signs in, and for who revokes a key. */
  listWithUsage(accountId: string): Promise<KeyUsage[]> {
    return this.#turns.run(accountId, () => this.#next(() => this.#listWithUse(accountId)));
  }

  async #next<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#lastAdded.then(work);
    this.#lastAdded = turn.catch(() => {});
    return turn;
  }

  async #listWithUse(accountId: string): Promise<KeyUsage[]> {
    const keys = await this.list(accountId);
    if (keys.length === 0) return [];
    const account = uuidFromId("acct", accountId);
    const figures = await this.#orm.em
      .fork()
      .execute<FiguresRow[]>(FIGURES, [
        account,
        `{${keys.map(({ keyId }) => uuidFromId("key", keyId)).join(",")}}`,
      ]);
    const byKey = new Map(figures.map((row) => [idFromUuid("key", row.id), row]));
    return keys.map((key) => {
      const row = byKey.get(key.keyId);
      return {
        ...key,
        dayUsed: BigInt(row?.day_used ?? 0),
        spent: BigInt(row?.spent ?? 0),
        chargedCalls: BigInt(row?.calls ?? 0),
      };
    });
  }

  async rotate({ keyId, accountId, overlapSeconds }: Rotation): Promise<{
    key: ApiKey;
    secret: string;
    oldKey: ApiKey;
  }> {
    return this.#orm.em.fork().transactional(async (em) => {
      const { id, account } = await this.#find(em, keyId, accountId);
      await lockKeys(em, account);
      // Again, now that nobody else makes or replaces keys of the account.
      const old = await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true });
      this.#demandReplaceable(old);
      const now = this.#clock.now();
      const end =
        overlapSeconds === 0
          ? { revokedAt: new Date(now) }
          : { expiresAt: earlier(old, now, overlapSeconds) };
      const limits = limitsOf(old);
      const { name, scopes, budgetId } = old;
      const { row, secret } = this.#make(em, {
        account,
        name,
        scopes: scopes.filter(isScope),
        limits,
        budgetId,
      });
      const ended = await em.nativeUpdate(
        ApiKeyEntity,
        { id, revokedAt: null },
        { ...end, replacedBy: row.id },
      );
      if (ended === 0) throw notReplaceable("no longer works; create a new key");
      await this.#demandRoom(em, account);
      await em.flush();
      return {
        key: keyOf(row),
        secret,
        oldKey: keyOf(await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true })),
      };
    });
  }

  async revoke(keyId: string, accountId?: string): Promise<ApiKey> {
    const em = this.#orm.em.fork();
    const { id } = await this.#find(em, keyId, accountId);
    await em.nativeUpdate(ApiKeyEntity, { id, revokedAt: null }, { revokedAt: new Date(this.#clock.now()) });
    return keyOf(await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true }));
  }

  /** @throws ToolgateError NOT_FOUND, for a foreign key in the same words */
  async #find(em: EntityManager, keyId: string, accountId: string | undefined): Promise<KeyRow> {
    const id = uuidOf("key", keyId);
    const row = id === undefined ? null : await em.findOne(ApiKeyEntity, { id });
    if (!row || (accountId !== undefined && idFromUuid("acct", row.account) !== accountId))
      throw new ToolgateError("NOT_FOUND", "there is no such API key");
    return row;
  }

  #make(
    em: EntityManager,
    { account, name, scopes, limits, budgetId }: Made,
  ): { row: KeyRow; secret: string } {
    const signer = this.#secrets.current();
    const secret = newApiKey(signer, this.#random);
    const id = uuidFromId("key", newId("key", this.#clock, this.#random));
    const row = em.create(ApiKeyEntity, {
      id,
      account,
      sha256: Buffer.from(hashOf(secret), "hex"),
      prefix: secret.slice(0, SHOWN_LENGTH),
      secretVersion: signer.version,
      name,
      scopes: [...scopes],
      createdAt: new Date(this.#clock.now()),
      ...limitsRow(limits),
      budgetId: limits?.perDay === undefined ? null : (budgetId ?? id),
    });
    em.persist(row);
    return { row, secret };
  }

  /**
   * Whether there is room for one more key; what was made in this transaction and not written yet is that one.
   * @throws ToolgateError INVALID_REQUEST
   */
  async #demandRoom(em: EntityManager, account: string): Promise<void> {
    await lockKeys(em, account);
    const now = new Date(this.#clock.now());
    const today = { account, createdAt: { $gt: new Date(now.getTime() - DAY_MS) } };
    if ((await em.count(ApiKeyEntity, today, { flushMode: "commit" })) >= MAX_PER_DAY) {
      throw new ToolgateError(
        "INVALID_REQUEST",
        `the account has made ${MAX_PER_DAY} keys within a day, as many as it may; try again tomorrow`,
      );
    }
    const alive = { account, revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] };
    if ((await em.count(ApiKeyEntity, alive, { flushMode: "commit" })) < MAX_ACTIVE_KEYS) return;
    throw new ToolgateError(
      "INVALID_REQUEST",
      `the account has ${MAX_ACTIVE_KEYS} keys that work, as many as it may have; revoke one that is not needed any more`,
    );
  }

  /** @throws ToolgateError INVALID_REQUEST */
  #demandReplaceable({ revokedAt, expiresAt, replacedBy }: KeyRow): void {
    if (replacedBy)
      throw notReplaceable(`was replaced by ${idFromUuid("key", replacedBy)} before; rotate that one`);
    if (revokedAt || (expiresAt && expiresAt.getTime() <= this.#clock.now()))
      throw notReplaceable("no longer works; create a new key");
  }
}

/** Whoever makes or replaces keys of an account waits for all others who do: each counts what those before it have made. */
async function lockKeys(em: EntityManager, account: string): Promise<void> {
  await em.execute("select pg_advisory_xact_lock(hashtextextended('keys ' || ?, 0))", [account]);
}

function earlier({ expiresAt }: KeyRow, now: number, overlapSeconds: number): Date {
  const end = new Date(now + overlapSeconds * 1_000);
  return expiresAt && expiresAt < end ? expiresAt : end;
}

function notReplaceable(problem: string): ToolgateError {
  return invalidField("key_id", problem);
}

function keyOf(row: KeyRow): ApiKey {
  return {
    keyId: idFromUuid("key", row.id),
    accountId: idFromUuid("acct", row.account),
    prefix: row.prefix,
    name: row.name,
    scopes: row.scopes.filter(isScope),
    limits: limitsOf(row),
    createdAt: row.createdAt,
    revokedAt: row.revokedAt ?? undefined,
  };
}
