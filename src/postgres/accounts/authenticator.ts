import { timingSafeEqual } from "node:crypto";
import type { Authenticator, GrantedKeys } from "../../app/accounts/authenticator.ts";
import {
  isSignedWith,
  parseApiKey,
  TOKEN_PREFIX,
  type KeySecret,
  type ParsedKey,
} from "../../domain/accounts/api-key.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import { NO_CELL, type Cell, uuidOf } from "../../domain/core/ids.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { Lru } from "../../domain/core/lru.ts";
import { isScope } from "../../domain/accounts/scope.ts";
import { DatabaseAway } from "../database/away.ts";
import { Batcher } from "../database/batcher.ts";
import { AccessTokens, type AccessToken } from "../oauth/access-tokens.ts";
import { hashOf, limitsOf, rateLimitsOf, requestLogOf } from "./key-rows.ts";
import type { LimitsRow, RequestLogRow } from "./key-rows.ts";
import type { KeyUses, MovedKeys } from "./key-uses.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import type { Parts } from "../database/parts.ts";

export interface AuthenticatorOptions extends Pick<Parts, "pool" | "clock" | "notifications"> {
  /** API key secrets by version. Returns a promise only for versions that are not loaded yet. */
  secrets: { find(version: number): KeySecret | undefined | Promise<KeySecret | undefined> };
  keyUses: Pick<KeyUses, "record">;
  /** Keys of other cells that are valid here. */
  movedKeys?: Pick<MovedKeys, "has">;
  cell?: Cell;
  away?: DatabaseAway;
}

/** Maximum cached keys: valid ones, and rejected ones with a valid signature. */
const [MAX_CACHED, MAX_REJECTED] = [10_000, 1_000];

/** Maximum age of cache entries, ms: a second safeguard beside change notifications. */
const [CACHE_MS, REJECTED_MS] = [30_000, 5_000];

/** How long a key is accepted while the database is away, ms. Whatever costs something needs the database. */
const AWAY_CACHE_MS = 600_000;

interface CacheEntry {
  caller: Caller;
  since: number;
  /** How often messages may have been missed when it was read: after another gap it is not current. */
  gaps: number;
}

/** A key that works; `movedTo`: the cell that has its account. */
interface FoundKey {
  readonly caller: Caller | undefined;
  readonly movedTo?: number | undefined;
}

interface KeyRow extends LimitsRow, RequestLogRow {
  sha256: Buffer;
  id: string;
  account_id: string;
  scopes: string[];
  operator: boolean;
  blocked_reason: string | null;
  expires_at: Date | null;
  call_limit: bigint | null;
  tools: string[] | null;
  moved_to: number | null;
  budgeted: boolean;
  limits_version: number;
}

/**
 * Verifies API keys: the signature in memory first, then the SHA-256 in the database. Valid keys are cached
 * while change notifications arrive, and for what needs no database while it is away. Rejections are cached
 * for seconds in any case: a rejected key never becomes valid.
 */
export class PostgresAuthenticator implements Authenticator, GrantedKeys {
  readonly #options: AuthenticatorOptions;
  readonly #cache = new Lru<string, CacheEntry>(MAX_CACHED);
  /** Timestamp of each rejection, by key hash. */
  readonly #rejected = new Lru<string, number>(MAX_REJECTED);
  readonly #lookups: Batcher<Buffer, FoundKey>;
  readonly #tokens: AccessTokens;
  /** Incremented per notification: results requested before a change are not cached after it. */
  #generation = 0;
  #gaps = 0;
  readonly #away: DatabaseAway;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#away = options.away ?? new DatabaseAway(options.notifications);
    this.#tokens = new AccessTokens(options.pool);
    this.#lookups = new Batcher({
      max: 200,
      retryMs: RETRY_MS,
      run: (hashes, forMs) => this.#find(hashes, forMs),
    });
    options.notifications.subscribe({
      channel: KEY_CHANNEL,
      onMessage: (payload) => this.#invalidate(keyChangeOf(payload)),
      onGap: () => this.#missed(),
    });
  }

  authenticate(secret: string): Caller | undefined | Promise<Caller | undefined> {
    const hash = hashOf(secret);
    const now = this.#options.clock.now();
    const isToken = secret.startsWith(TOKEN_PREFIX);
    const token = isToken ? this.#tokens.known(hash) : undefined;
    if (token) return this.#ofToken(token, now);
    const caller = isToken ? undefined : this.#cached(hash, now);
    if (caller) return this.#accept(caller, now);
    const parsed = parseApiKey(secret);
    const { secrets, movedKeys, cell = NO_CELL } = this.#options;
    if (!parsed) return undefined;
    if (movedKeys?.has(hash)) return this.#lookUp(hash, now);
    if (cell.isForeign("api_key", parsed.cell)) return undefined;
    const key = secrets.find(parsed.version);
    const request = { parsed, hash, isToken, now };
    if (key instanceof Promise) return key.then((found) => this.#verify(request, found));
    return this.#verify(request, key);
  }

  /** A token ends with its key, whose changes are notified. */
  #ofToken(token: AccessToken, now: number): Caller | undefined | Promise<Caller | undefined> {
    if (token.expiresAt <= now) return undefined;
    const key = this.callerOf(token.keyHash);
    return key instanceof Promise ? key.then((found) => found && token.of(found)) : key && token.of(key);
  }

  callerOf(keyHash: string, isNew = false): Caller | undefined | Promise<Caller | undefined> {
    const now = this.#options.clock.now();
    const key = this.#cached(keyHash, now);
    if (key) return this.#accept(key, now);
    return !isNew && this.#isRejected(keyHash, now) ? undefined : this.#lookUp(keyHash, now);
  }

  async #lookUpToken(hash: string, now: number): Promise<Caller | undefined> {
    const token = await this.#tokens.find(hash);
    if (token) return this.#ofToken(token, now);
    this.#rejected.set(hash, now);
    return undefined;
  }

  /** Queries the database only for keys with a valid signature. */
  #verify(
    { parsed, hash, isToken, now }: { parsed: ParsedKey; hash: string; isToken: boolean; now: number },
    key: KeySecret | undefined,
  ): undefined | Promise<Caller | undefined> {
    if (!key || !isSignedWith(parsed, key.secret) || this.#isRejected(hash, now)) return undefined;
    return isToken ? this.#lookUpToken(hash, now) : this.#lookUp(hash, now);
  }

  #isRejected(hash: string, now: number): boolean {
    const age = now - (this.#rejected.get(hash) ?? Number.NEGATIVE_INFINITY);
    return age >= 0 && age < REJECTED_MS;
  }

  async #lookUp(hash: string, since: number): Promise<Caller | undefined> {
    const [generation, gaps] = [this.#generation, this.#gaps];
    const known = this.#younger(hash, since, AWAY_CACHE_MS)?.caller;
    if (known && this.#away.lasts) return this.#accept(known, since);
    let found: FoundKey;
    try {
      found = await this.#lookups.submit(Buffer.from(hash, "hex"));
    } catch (error) {
      this.#away.note(error);
      if (known) return this.#accept(known, since);
      throw error;
    }
    if (found.movedTo !== undefined) throw this.#moved(found.movedTo);
    const caller = found.caller && this.#accept(found.caller, this.#options.clock.now());
    if (!caller) this.#cache.delete(hash);
    if (generation === this.#generation) {
      if (!caller) this.#rejected.set(hash, since);
      else if (this.#options.notifications.live) this.#cache.set(hash, { caller, since, gaps });
    }
    return caller;
  }

  #moved(movedTo: number): ToolgateError {
    (this.#options.cell ?? NO_CELL).isForeign("account", movedTo);
    const message = "the account has moved to another server; repeat the request shortly";
    return new ToolgateError("UNAVAILABLE", message, { retryAfterSeconds: 1 });
  }

  /** Checks expiry here, also for cached keys: no notification reports it. */
  #accept(caller: Caller, now: number): Caller | undefined {
    const expiresAt = caller.limits?.expiresAt;
    if (expiresAt && expiresAt.getTime() <= now) return undefined;
    this.#options.keyUses.record(caller.keyId);
    return caller;
  }

  #cached(hash: string, now: number): Caller | undefined {
    if (!this.#options.notifications.live) return undefined;
    const entry = this.#younger(hash, now, CACHE_MS);
    return entry?.gaps === this.#gaps ? entry.caller : undefined;
  }

  #younger(hash: string, now: number, maxAgeMs: number): CacheEntry | undefined {
    const entry = this.#cache.get(hash);
    const age = entry ? now - entry.since : -1;
    return age >= 0 && age < maxAgeMs ? entry : undefined;
  }

  #invalidate(change: KeyChange | undefined): void {
    if (!change) return;
    this.#generation++;
    if (change === "all") this.#cache.clear();
    else if ("key" in change) {
      this.#cache.delete(change.key);
      this.#rejected.delete(change.key);
      this.#tokens.invalidate(change.key);
    } else {
      this.#cache.deleteWhere(({ caller }) => uuidOf("acct", caller.accountId) === change.account);
    }
  }

  #missed(): void {
    this.#generation++;
    this.#gaps++;
    this.#rejected.clear();
    this.#tokens.invalidate(undefined);
  }

  async #find(hashes: readonly Buffer[], forMs: number): Promise<FoundKey[]> {
    const { pool } = this.#options;
    const { rows } = await withRetry(forMs, () =>
      pool.query<KeyRow>({
        name: "authenticator-find",
        text: `select key.sha256, key.id, key.account_id, key.scopes, account.rate_per_minute, account.burst,
                      account.account_rate_per_minute, account.account_burst, account.operator,
                      account.blocked_reason, key.expires_at, key.call_limit, key.tools,
                      coalesce(key.budget_id, key.group_id) is not null as budgeted,
                      account.limits_version, account.moved_to, account.request_bodies,
                      account.request_hours
               from api_key key join account_limits account on account.id = key.account_id
               where key.sha256 = any ($1::bytea[]) and key.revoked_at is null`,
        values: [hashes],
      }),
    );
    const found = new Map(rows.map((row) => [row.sha256.toString("hex"), row]));
    return hashes.map((hash) => {
      const row = found.get(hash.toString("hex"));
      if (!row || !isSameHash(row.sha256, hash)) return { caller: undefined };
      return row.moved_to === null ? { caller: toCaller(row) } : { caller: undefined, movedTo: row.moved_to };
    });
  }
}

/** Compares the full hash in constant time. */
function isSameHash(stored: Buffer, expected: Buffer): boolean {
  return stored.length === expected.length && timingSafeEqual(stored, expected);
}

function toCaller(row: KeyRow): Caller {
  return {
    keyId: idFromUuid("key", row.id),
    accountId: idFromUuid("acct", row.account_id),
    scopes: new Set(row.scopes.filter(isScope)),
    ...rateLimitsOf(row),
    operator: row.operator,
    limits: limitsOf({ expiresAt: row.expires_at, callLimit: row.call_limit, tools: row.tools }),
    budgeted: row.budgeted,
    limitsVersion: row.limits_version,
    blockedReason: row.blocked_reason ?? undefined,
    requestLog: requestLogOf(row),
  };
}

/** Notification channel of key changes, written by triggers. */
const KEY_CHANNEL = "toolgate_key";

/** A changed key (hash), an account with all its keys (identifier), in hex, or the keys of all accounts. */
type KeyChange = { key: string } | { account: string } | "all";

/** Parses a notification; undefined when it is not about keys. */
function keyChangeOf(payload: string): KeyChange | undefined {
  const [kind, hex] = payload.split(":");
  if (hex === undefined) return undefined;
  if (kind === "key") return { key: hex };
  if (kind === "tier") return "all";
  return kind === "account" ? { account: hex } : undefined;
}
