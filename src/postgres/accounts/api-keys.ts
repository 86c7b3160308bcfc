import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import { MAX_ACTIVE_KEYS } from "../../app/accounts/api-keys.ts";
import type { ApiKey, ApiKeys, Consent, KeyUsage, ListedKey, Rotation } from "../../app/accounts/api-keys.ts";
import { type KeySecret, newApiKey, SHOWN_LENGTH, TOKEN_PREFIX } from "../../domain/accounts/api-key.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { invalidField, ToolgateError } from "../../domain/core/errors.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import { isBudget, NO_LIMITS } from "../../domain/accounts/budget.ts";
import { type KeyChange, type NewKey, requireExpected } from "../../domain/accounts/new-key.ts";
import { isScope } from "../../domain/accounts/scope.ts";
import { AccountEntity, ApiKeyEntity, KeyUseEntity } from "../database/entities/accounts.ts";
import { OAuthGrantEntity } from "../database/entities/oauth.ts";
import { hashOf, limitsRow } from "./key-rows.ts";
import { type KeyRow, readKey, toApiKeys } from "./stored-keys.ts";
import { lockLimits, setBudget } from "./budgets.ts";
import { requireGroup } from "./key-groups.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { bytesOf } from "../oauth/oauth-records.ts";
import { AccountQueue } from "./account-queue.ts";
import { usageTotals } from "./key-usage.ts";

/**
 * Maximum keys created per account and day, and maximum inactive keys listed. Bounds the table and memory
 * against scripts.
 */
const [MAX_PER_DAY, MAX_INACTIVE_LISTED] = [1_000, 500];

const DAY_MS = 86_400_000;

export interface KeySecrets {
  current(): KeySecret;
}

interface NewKeyRow extends NewKey {
  account: string;
  /** Default: the first characters of the secret. */
  prefix?: string;
  /** Default: of the secret, which then does not exist. */
  sha256?: Buffer;
  shared?: Pick<KeyRow, "budgetId" | "groupId">;
}

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

  async create(wanted: NewKey & { accountId: string }): Promise<{ key: ApiKey; secret: string }> {
    return this.#orm.em.fork().transactional(async (em) => {
      const { row, secret } = await this.#add(em, wanted);
      return { key: await readKey(em, row.id), secret };
    });
  }

  async connect(
    wanted: NewKey & { accountId: string },
    { interactionId, client, resource }: Consent,
  ): Promise<ApiKey> {
    return this.#orm.em.fork().transactional(async (em) => {
      // The secret is dropped: the tokens of the key have their own.
      const { row } = await this.#add(em, { ...wanted, prefix: TOKEN_PREFIX });
      await em.insert(OAuthGrantEntity, { ...client, key: row.id, resource });
      const login = { accountId: wanted.accountId, remember: false };
      const result = JSON.stringify({ login, consent: { grantId: idFromUuid("key", row.id) } });
      const [answer] = await em.execute<{ answered: boolean }[]>("select oauth_answer(?, ?, ?) as answered", [
        ...[interactionId, client.clientId].map(bytesOf),
        result,
      ]);
      if (!answer?.answered)
        throw new ToolgateError(
          "INVALID_REQUEST",
          "the request was answered before or has expired; connect again",
        );
      return readKey(em, row.id);
    });
  }

  async grant(
    wanted: NewKey & { accountId: string },
    { client, resource, hash }: Parameters<ApiKeys["grant"]>[1],
  ): Promise<void> {
    return this.#orm.em.fork().transactional(async (em) => {
      const sha256 = Buffer.from(hash, "hex");
      // The lock of the account's keys makes others wait that create the same one.
      await lockKeys(em, uuidOf("acct", wanted.accountId) ?? "");
      if ((await em.count(ApiKeyEntity, { sha256 })) > 0) return;
      const { row } = await this.#add(em, { ...wanted, prefix: TOKEN_PREFIX, sha256 });
      await em.insert(OAuthGrantEntity, { ...client, key: row.id, resource });
    });
  }

  async #add(
    em: EntityManager,
    { accountId, ...wanted }: NewKey & { accountId: string; prefix?: string; sha256?: Buffer },
  ): Promise<{ row: KeyRow; secret: string }> {
    const account = uuidOf("acct", accountId);
    if (account === undefined || (await em.count(AccountEntity, { id: account })) === 0)
      throw new ToolgateError("NOT_FOUND", "there is no such account");
    await this.#requireKeyQuota(em, account);
    const { row, secret } = this.#build(em, { account, ...wanted });
    await em.flush();
    const { limits, groupId } = wanted;
    if (groupId !== undefined) await this.#changeGroup(em, row, groupId);
    if (limits && isBudget(limits)) await setBudget(em, row, limits);
    return { row, secret };
  }

  async get(keyId: string): Promise<ApiKey> {
    const em = this.#orm.em.fork();
    return readKey(em, (await this.#find(em, keyId, undefined)).id);
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
    const keys = await toApiKeys(em, rows);
    return keys.map((key, n) => ({ ...key, lastUsedAt: used.get(rows[n]?.id ?? "") }));
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
    const ids = keys.map(({ keyId }) => uuidFromId("key", keyId));
    const byKey = await usageTotals(this.#orm.em.fork(), account, ids);
    return keys.map((key) => {
      const row = byKey.get(key.keyId);
      return { ...key, spent: BigInt(row?.spent ?? 0), chargedCalls: BigInt(row?.calls ?? 0) };
    });
  }

  async rotate({
    keyId,
    accountId,
    overlapSeconds,
  }: Rotation): Promise<{ key: ApiKey; secret: string; oldKey: ApiKey }> {
    return this.#orm.em.fork().transactional(async (em) => {
      const { id, account } = await this.#find(em, keyId, accountId);
      await lockKeys(em, account);
      // Reads again under the lock: a concurrent rotation may have changed the key.
      const old = await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true });
      this.#requireCurrent(old, "rotate");
      if ((await em.count(OAuthGrantEntity, { key: id })) > 0)
        throw invalidField("key_id", "is used by an application, which connects again to get new tokens");
      const now = this.#clock.now();
      const end =
        overlapSeconds === 0
          ? { revokedAt: new Date(now) }
          : { expiresAt: earlier(old, now, overlapSeconds) };
      const [{ limits } = { limits: undefined }] = await toApiKeys(em, [old]);
      const { name, scopes } = old;
      const kept = { name, scopes: scopes.filter(isScope), limits, shared: old };
      const { row, secret } = this.#build(em, { account, ...kept });
      const updated = await em.nativeUpdate(
        ApiKeyEntity,
        { id, revokedAt: null },
        { ...end, replacedBy: row.id },
      );
      if (updated === 0) throw inactiveKey();
      await this.#requireKeyQuota(em, account);
      await em.flush();
      return { key: await readKey(em, row.id), secret, oldKey: await readKey(em, id) };
    });
  }

  async revoke(keyId: string, accountId?: string): Promise<ApiKey> {
    const em = this.#orm.em.fork();
    const { id } = await this.#find(em, keyId, accountId);
    await em.nativeUpdate(ApiKeyEntity, { id, revokedAt: null }, { revokedAt: new Date(this.#clock.now()) });
    return readKey(em, id);
  }

  async update({
    keyId,
    accountId,
    name,
    limits,
    expected,
    group,
  }: KeyChange & { keyId: string; accountId: string | undefined }): Promise<ApiKey> {
    return this.#orm.em.fork().transactional(async (em) => {
      const { id, account } = await this.#find(em, keyId, accountId);
      await lockKeys(em, account);
      // Reads again under the lock: a concurrent change may have ended the key.
      const row = await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true });
      this.#requireCurrent(row, "edit");
      const [old] = await toApiKeys(em, [row]);
      requireExpected(old?.limits, expected);
      if (limits) {
        const merged = { ...NO_LIMITS, ...old?.limits, ...limits };
        await setBudget(em, row, merged);
        await em.nativeUpdate(ApiKeyEntity, { id }, limitsRow(merged));
      }
      if (group) await this.#changeGroup(em, row, group.groupId);
      if (name !== undefined) await em.nativeUpdate(ApiKeyEntity, { id }, { name });
      return readKey(em, id);
    });
  }

  /** @throws ToolgateError NOT_FOUND for an unknown group or one of another account */
  async #changeGroup(em: EntityManager, { id, account }: KeyRow, groupId: string | undefined): Promise<void> {
    await lockLimits(em, account);
    const group = groupId === undefined ? null : await requireGroup(em, groupId, idFromUuid("acct", account));
    await em.nativeUpdate(ApiKeyEntity, { id }, { groupId: group && group.id });
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
    { account, name, scopes, limits, shared, prefix, sha256 }: NewKeyRow,
  ): { row: KeyRow; secret: string } {
    const signer = this.#secrets.current();
    const secret = newApiKey(signer, this.#random, this.#cell);
    const id = uuidFromId("key", newId("key", this.#clock, this.#random, this.#cell));
    const row = em.create(ApiKeyEntity, {
      id,
      account,
      sha256: sha256 ?? Buffer.from(hashOf(secret), "hex"),
      prefix: prefix ?? secret.slice(0, SHOWN_LENGTH),
      secretVersion: signer.version,
      name,
      scopes: [...scopes],
      createdAt: new Date(this.#clock.now()),
      ...limitsRow(limits),
      budgetId: shared?.budgetId ?? null,
      groupId: shared?.groupId ?? null,
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

  /** @throws ToolgateError INVALID_REQUEST for a key that is replaced or inactive */
  #requireCurrent({ revokedAt, expiresAt, replacedBy }: KeyRow, action: "rotate" | "edit"): void {
    if (replacedBy)
      throw invalidField("key_id", `was replaced by ${idFromUuid("key", replacedBy)}; ${action} that key`);
    if (revokedAt || (expiresAt && expiresAt.getTime() <= this.#clock.now())) throw inactiveKey();
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

function inactiveKey(): ToolgateError {
  return invalidField("key_id", "no longer works; create a new key");
}
