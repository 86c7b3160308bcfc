import { timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import type { Authenticator } from "../app/ports.ts";
import { isSignedWith, parseApiKey, type KeySecret, type ParsedKey } from "../domain/api-key.ts";
import type { Caller } from "../domain/caller.ts";
import type { Clock } from "../domain/clock.ts";
import { uuidOf } from "../domain/ids.ts";
import { Lru } from "../domain/lru.ts";
import { accountTierOf } from "../domain/rate-limit.ts";
import { isScope } from "../domain/scope.ts";
import { Batcher } from "./batcher.ts";
import { KEY_CHANNEL, keyChangeOf, type KeyChange } from "./key-changes.ts";
import { hashOf } from "./key-hash.ts";
import { limitsOf } from "./key-limits.ts";
import type { KeyUses } from "./key-uses.ts";
import type { Notifications } from "./notifications.ts";
import { RETRY_MS, withRetry } from "./retry.ts";
import { idFromUuid } from "./row-mapping.ts";

/** What the authenticator needs. */
export interface AuthenticatorOptions {
  pool: Pool;
  clock: Clock;
  /** Where changes are heard of; not started yet. */
  notifications: Notifications;
  /** The secrets that sign API keys, by version; waited for only where a version is not known yet. */
  secrets: { find(version: number): KeySecret | undefined | Promise<KeySecret | undefined> };
  /** Hears of each use of a good key. */
  keyUses: Pick<KeyUses, "record">;
}

/** Keys that are remembered at most: known ones, and refused ones that were once made here. */
const [KNOWN, REFUSED] = [10_000, 1_000];

/** How long anything is remembered at most, ms; a second line of defence, since changes are heard of. */
const [KNOWN_MS, REFUSED_MS] = [30_000, 5_000];

interface Remembered {
  caller: Caller;
  since: number;
}

interface KeyRow {
  sha256: Buffer;
  id: string;
  account_id: string;
  scopes: string[];
  rate_per_minute: number;
  burst: number;
  account_rate_per_minute: number | null;
  account_burst: number | null;
  operator: boolean;
  blocked_reason: string | null;
  expires_at: Date | null;
  call_limit: bigint | null;
  day_limit: bigint | null;
  tools: string[] | null;
  budget_id: string | null;
}

/**
 * Verifies API keys: first the key's own signature, in memory, then its SHA-256 in the database, which decides. What the database
 * says is remembered while changes are heard of; a refusal, for some seconds in any case, as a refused key never works again.
 */
export class PostgresAuthenticator implements Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #known = new Lru<string, Remembered>(KNOWN);
  /** When a key was refused, by its hash. */
  readonly #refused = new Lru<string, number>(REFUSED);
  readonly #lookups: Batcher<Buffer, { caller: Caller | undefined }>;
  /** Counts what was heard: an answer that was asked for before a change is not remembered after it. */
  #generation = 0;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#lookups = new Batcher({
      max: 200,
      retryMs: RETRY_MS,
      run: (hashes, forMs) => this.#find(hashes, forMs),
    });
    options.notifications.subscribe({
      channel: KEY_CHANNEL,
      onMessage: (payload) => this.#forget(keyChangeOf(payload)),
      onGap: () => this.#forgetAll(),
    });
  }

  authenticate(secret: string): Caller | undefined | Promise<Caller | undefined> {
    const parsed = parseApiKey(secret);
    if (!parsed) return undefined;
    const hash = hashOf(secret);
    const now = this.#options.clock.now();
    const caller = this.#recall(hash, now);
    if (caller) return this.#welcome(caller, now);
    const key = this.#options.secrets.find(parsed.version);
    if (key instanceof Promise) return key.then((found) => this.#verify(parsed, found, hash, now));
    return this.#verify(parsed, key, hash, now);
  }

  /** Asks the database for a key that this deployment has signed, and for no other. */
  #verify(
    parsed: ParsedKey,
    key: KeySecret | undefined,
    hash: string,
    now: number,
  ): undefined | Promise<Caller | undefined> {
    if (!key || !isSignedWith(parsed, key.secret)) return undefined;
    const age = now - (this.#refused.get(hash) ?? Number.NEGATIVE_INFINITY);
    return age >= 0 && age < REFUSED_MS ? undefined : this.#ask(hash, now);
  }

  async #ask(hash: string, since: number): Promise<Caller | undefined> {
    const generation = this.#generation;
    const { caller: found } = await this.#lookups.submit(Buffer.from(hash, "hex"));
    const caller = found && this.#welcome(found, this.#options.clock.now());
    if (generation === this.#generation) {
      if (!caller) this.#refused.set(hash, since);
      else if (this.#options.notifications.live) this.#known.set(hash, { caller, since });
    }
    return caller;
  }

  /** Looked at here, for what is remembered too: no notification says that a key has expired. */
  #welcome(caller: Caller, now: number): Caller | undefined {
    const expiresAt = caller.limits?.expiresAt;
    if (expiresAt && expiresAt.getTime() <= now) return undefined;
    this.#options.keyUses.record(caller.keyId);
    return caller;
  }

  #recall(hash: string, now: number): Caller | undefined {
    if (!this.#options.notifications.live) return undefined;
    const remembered = this.#known.get(hash);
    if (!remembered) return undefined;
    const age = now - remembered.since;
    return age >= 0 && age < KNOWN_MS ? remembered.caller : undefined;
  }

  #forget(change: KeyChange | undefined): void {
    if (!change) return;
    this.#generation++;
    if ("key" in change) {
      this.#known.delete(change.key);
      this.#refused.delete(change.key);
    } else {
      this.#known.deleteWhere(({ caller }) => uuidOf("acct", caller.accountId) === change.account);
    }
  }

  #forgetAll(): void {
    this.#generation++;
    this.#known.clear();
    this.#refused.clear();
  }

  async #find(hashes: readonly Buffer[], forMs: number): Promise<{ caller: Caller | undefined }[]> {
    const { pool } = this.#options;
    const { rows } = await withRetry(forMs, () =>
      pool.query<KeyRow>({
        name: "authenticator-find",
        text: `select key.sha256, key.id, key.account_id, key.scopes, account.rate_per_minute, account.burst,
                      account.account_rate_per_minute, account.account_burst, account.operator,
                      account.blocked_reason, key.expires_at, key.call_limit, key.day_limit, key.tools, key.budget_id
               from api_key key join account on account.id = key.account_id
               where key.sha256 = any ($1::bytea[]) and key.revoked_at is null`,
        values: [hashes],
      }),
    );
    const found = new Map(rows.map((row) => [row.sha256.toString("hex"), row]));
    return hashes.map((hash) => {
      const row = found.get(hash.toString("hex"));
      return { caller: row && isWhole(row.sha256, hash) ? callerOf(row) : undefined };
    });
  }
}

/** Whether it is the whole hash: how far two that differ agree is not told by the time this takes. */
function isWhole(stored: Buffer, asked: Buffer): boolean {
  return stored.length === asked.length && timingSafeEqual(stored, asked);
}

function callerOf(row: KeyRow): Caller {
  const tier = { ratePerMinute: row.rate_per_minute, burst: row.burst };
  return {
    keyId: idFromUuid("key", row.id),
    accountId: idFromUuid("acct", row.account_id),
    scopes: new Set(row.scopes.filter(isScope)),
    tier,
    accountTier: accountTierOf(tier, {
      ratePerMinute: row.account_rate_per_minute,
      burst: row.account_burst,
    }),
    operator: row.operator,
    limits: limitsOf({
      expiresAt: row.expires_at,
      callLimit: row.call_limit,
      dayLimit: row.day_limit,
      tools: row.tools,
    }),
    budgetId: row.budget_id === null ? undefined : idFromUuid("key", row.budget_id),
    blockedReason: row.blocked_reason ?? undefined,
  };
}
