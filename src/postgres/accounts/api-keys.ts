import type { InferEntity } from "@mikro-orm/core";
import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import {
  type ApiKey,
  type ApiKeys,
  type KeyUsage,
  type ListedKey,
  MAX_ACTIVE_KEYS,
  type Rotation,
} from "../../app/accounts/api-keys.ts";
import { type KeySecret, newApiKey, SHOWN_LENGTH } from "../../domain/accounts/api-key.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import type { NewKey } from "../../domain/accounts/new-key.ts";
import { isScope } from "../../domain/accounts/scope.ts";
import { AccountEntity } from "../database/entities/account.ts";
import { ApiKeyEntity } from "../database/entities/api-key.ts";
import { KeyUseEntity } from "../database/entities/key-use.ts";
import { hashOf } from "./key-hash.ts";
import { limitsOf, limitsRow } from "./key-limits.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { AccountQueue } from "./account-queue.ts";

type KeyRow = InferEntity<typeof ApiKeyEntity>;

/**
 * Maximum keys created per account and day, and maximum inactive keys listed. Bounds the table and memory
 * against scripts.
 */
const [MAX_PER_DAY, MAX_INACTIVE_LISTED] = [1_000, 500];

const DAY_MS = 86_400_000;

/** The secrets that sign API keys. */
export interface KeySecrets {
  /** Signs new keys. */
  current(): KeySecret;
}

/** The attributes of a new key. */
interface NewKeyRow extends NewKey {
  account: string;
  /** The daily budget shared with the replaced key; default: the key's own. */
  budgetId?: string | null | undefined;
}

/** Usage totals of a key. PostgreSQL returns sums as text. */
interface UsageTotalsRow {
  id: string;
  day_used: string;
  spent: string;
  calls: string;
}

const USAGE_TOTALS = /* sql */ `
  select key.id, coalesce(budget.spent, 0) as day_used, coalesce(charged.spent, 0) as spent,
    coalesce(charged.calls, 0) as calls
  from api_key key
  left join key_budget budget on budget.budget_id = key.budget_id
    and budget.day = (now() at time zone 'utc')::date
  left join (
    select run.key_id, sum(receipt.debited) as spent, count(*) as calls
    from receipt join run on run.id = receipt.run_id
    where receipt.account_id = ? group by run.key_id
  ) charged on charged.key_id = key.id
  where key.id = any (?::uuid[])`;

/** API keys on PostgreSQL. Database triggers notify every instance's key cache of changes. */
export class PostgresApiKeys implements ApiKeys {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #secrets: KeySecrets;
  readonly #cell: number;
  readonly #queue = new AccountQueue();
  /** Completion of the latest queued totals query. */
  #lastTotals: Promise<unknown> = Promise.resolve();

  constructor(orm: MikroORM, clock: Clock, random: Random, secrets: KeySecrets, cell: number) {
    this.#orm = orm;
    this.#clock = clock;
    this.#random = random;
    this.#secrets = secrets;
    this.#cell = cell;
  }

  async create({
    accountId,
    ...wanted
  }: NewKey & { accountId: string }): Promise<{ key: ApiKey; secret: string }> {
    const account = uuidOf("acct", accountId);
    return this.#orm.em.fork().transactional(async (em) => {
      if (account === undefined || (await em.count(AccountEntity, { id: account })) === 0)
        throw new ToolgateError("NOT_FOUND", "there is no such account");
      await this.#requireKeyQuota(em, account);
      const { row, secret } = this.#build(em, { account, ...wanted });
      await em.flush();
      return { key: toApiKey(row), secret };
    });
  }

  async list(accountId: string | undefined): Promise<ListedKey[]> {
    const account = accountId === undefined ? undefined : uuidOf("acct", accountId);
    if (accountId !== undefined && account === undefined) return [];
    const em = this.#orm.em.fork();
    const rows = await this.#findKeys(em, account);
    const uses = await em.find(
      KeyUseEntity,
      account === undefined ? {} : { keyId: { $in: rows.map(({ id }) => id) } },
    );
    const used = new Map(uses.map(({ keyId, lastUsedAt }) => [keyId, lastUsedAt]));
    return rows.map((row) => ({ ...toApiKey(row), lastUsedAt: used.get(row.id) }));
  }

  /** All keys; for one account, all active keys and the newest inactive ones. */
  async #findKeys(em: EntityManager, account: string | undefined): Promise<KeyRow[]> {
    if (account === undefined) return em.find(ApiKeyEntity, {}, { orderBy: { id: "desc" } });
    const now = new Date(this.#clock.now());
    const activeFilter = {
      account,
      revokedAt: null,
      $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }],
    };
    const inactiveFilter = { account, $or: [{ revokedAt: { $ne: null } }, { expiresAt: { $lte: now } }] };
    const active = await em.find(ApiKeyEntity, activeFilter);
    const inactive = await em.find(ApiKeyEntity, inactiveFilter, {
      orderBy: { id: "desc" },
      limit: MAX_INACTIVE_LISTED,
    });
    // UUIDv7 sorts by time. The map drops duplicates: a key can be revoked between the two queries.
    const rows = new Map([...active, ...inactive].map((row) => [row.id, row]));
    return [...rows.values()].sort((a, b) => (a.id < b.id ? 1 : -1));
  }

  /** One totals query at a time over all accounts; the second connection stays free for revocation. */
  listWithUsage(accountId: string): Promise<KeyUsage[]> {
    return this.#queue.run(accountId, () => this.#afterPrevious(() => this.#listWithUse(accountId)));
  }

  async #afterPrevious<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#lastTotals.then(work);
    this.#lastTotals = result.catch(() => {});
    return result;
  }

  async #listWithUse(accountId: string): Promise<KeyUsage[]> {
    const keys = await this.list(accountId);
    if (keys.length === 0) return [];
    const account = uuidFromId("acct", accountId);
    const totals = await this.#orm.em
      .fork()
      .execute<UsageTotalsRow[]>(USAGE_TOTALS, [
        account,
        `{${keys.map(({ keyId }) => uuidFromId("key", keyId)).join(",")}}`,
      ]);
    const byKey = new Map(totals.map((row) => [idFromUuid("key", row.id), row]));
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
      // Reads again under the lock: a concurrent rotation may have changed the key.
      const old = await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true });
      this.#requireRotatable(old);
      const now = this.#clock.now();
      const end =
        overlapSeconds === 0
          ? { revokedAt: new Date(now) }
          : { expiresAt: earlier(old, now, overlapSeconds) };
      const limits = limitsOf(old);
      const { name, scopes, budgetId } = old;
      const { row, secret } = this.#build(em, {
        account,
        name,
        scopes: scopes.filter(isScope),
        limits,
        budgetId,
      });
      const updated = await em.nativeUpdate(
        ApiKeyEntity,
        { id, revokedAt: null },
        { ...end, replacedBy: row.id },
      );
      if (updated === 0) throw notRotatable("no longer works; create a new key");
      await this.#requireKeyQuota(em, account);
      await em.flush();
      return {
        key: toApiKey(row),
        secret,
        oldKey: toApiKey(await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true })),
      };
    });
  }

  async revoke(keyId: string, accountId?: string): Promise<ApiKey> {
    const em = this.#orm.em.fork();
    const { id } = await this.#find(em, keyId, accountId);
    await em.nativeUpdate(ApiKeyEntity, { id, revokedAt: null }, { revokedAt: new Date(this.#clock.now()) });
    return toApiKey(await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true }));
  }

  /** @throws ToolgateError NOT_FOUND, with the same message for another account's key */
  async #find(em: EntityManager, keyId: string, accountId: string | undefined): Promise<KeyRow> {
    const id = uuidOf("key", keyId);
    const row = id === undefined ? null : await em.findOne(ApiKeyEntity, { id });
    if (!row || (accountId !== undefined && idFromUuid("acct", row.account) !== accountId))
      throw new ToolgateError("NOT_FOUND", "there is no such API key");
    return row;
  }

  #build(
    em: EntityManager,
    { account, name, scopes, limits, budgetId }: NewKeyRow,
  ): { row: KeyRow; secret: string } {
    const signer = this.#secrets.current();
    const secret = newApiKey(signer, this.#random, this.#cell);
    const id = uuidFromId("key", newId("key", this.#clock, this.#random, this.#cell));
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
   * Checks the key limits of an account; keys persisted but not flushed yet are not counted.
   * @throws ToolgateError INVALID_REQUEST
   */
  async #requireKeyQuota(em: EntityManager, account: string): Promise<void> {
    await lockKeys(em, account);
    const now = new Date(this.#clock.now());
    const today = { account, createdAt: { $gt: new Date(now.getTime() - DAY_MS) } };
    if ((await em.count(ApiKeyEntity, today, { flushMode: "commit" })) >= MAX_PER_DAY) {
      throw new ToolgateError(
        "INVALID_REQUEST",
        `the account created ${MAX_PER_DAY} keys within a day, the maximum; try again tomorrow`,
      );
    }
    const active = { account, revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] };
    if ((await em.count(ApiKeyEntity, active, { flushMode: "commit" })) < MAX_ACTIVE_KEYS) return;
    throw new ToolgateError(
      "INVALID_REQUEST",
      `the account has ${MAX_ACTIVE_KEYS} keys that work, as many as it may have; revoke one that is ` +
        "not needed any more",
    );
  }

  /** @throws ToolgateError INVALID_REQUEST when the key cannot be rotated */
  #requireRotatable({ revokedAt, expiresAt, replacedBy }: KeyRow): void {
    if (replacedBy) throw notRotatable(`was replaced by ${idFromUuid("key", replacedBy)}; rotate that key`);
    if (revokedAt || (expiresAt && expiresAt.getTime() <= this.#clock.now()))
      throw notRotatable("no longer works; create a new key");
  }
}

/** Serializes key creation and rotation per account, so that each counts the keys of those before it. */
async function lockKeys(em: EntityManager, account: string): Promise<void> {
  await em.execute("select pg_advisory_xact_lock(hashtextextended('keys ' || ?, 0))", [account]);
}

function earlier({ expiresAt }: KeyRow, now: number, overlapSeconds: number): Date {
  const end = new Date(now + overlapSeconds * 1_000);
  return expiresAt && expiresAt < end ? expiresAt : end;
}

function notRotatable(problem: string): ToolgateError {
  return invalidField("key_id", problem);
}

function toApiKey(row: KeyRow): ApiKey {
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
