import { timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import type { Authenticator } from "../app/ports.ts";
import { KEY_PREFIX } from "../domain/api-key.ts";
import type { Caller } from "../domain/caller.ts";
import type { Clock } from "../domain/clock.ts";
import { uuidOf } from "../domain/ids.ts";
import { Lru } from "../domain/lru.ts";
import { isScope } from "../domain/scope.ts";
import { Batcher } from "./batcher.ts";
import { KEY_CHANNEL, keyChangeOf, type KeyChange } from "./key-changes.ts";
import { hashOf } from "./key-hash.ts";
import { limitsOf } from "./key-limits.ts";
import type { KeyUses } from "./key-uses.ts";
import type { Notifications } from "./notifications.ts";
import { retrying } from "./retry.ts";
import { idFrom } from "./rows.ts";

/** What the authenticator needs. */
export interface AuthenticatorOptions {
  pool: Pool;
  clock: Clock;
  /** Where changes are heard of; not started yet. */
  notifications: Notifications;
  /** Hears of each use of a good key. */
  uses: Pick<KeyUses, "note">;
}

/** Keys that are remembered at most. Unknown ones have a place of their own, so that guessing cannot drive known ones out. */
const [KNOWN, UNKNOWN] = [10_000, 1_000];

/** How long anything is remembered at most, ms; a second line of defence, since changes are heard of. */
const [KNOWN_MS, UNKNOWN_MS] = [30_000, 5_000];

/** How long a call waits for a database that is away, ms. */
const PATIENCE_MS = 2_000;

/** Longest key that is looked at. */
const MAX_LENGTH = 128;

const NOBODY = Promise.resolve(undefined);

interface Remembered {
  caller: Caller | undefined;
  since: number;
}

interface KeyRow {
  sha256: Buffer;
  id: string;
  account_id: string;
  scopes: string[];
  rate_per_minute: number;
  burst: number;
  operator: boolean;
  blocked_reason: string | null;
  expires_at: Date | null;
  call_limit: bigint | null;
  day_limit: bigint | null;
  tools: string[] | null;
  budget_id: string | null;
}

/**
 * Looks API keys up by their SHA-256 and remembers them for as long as it is certain to hear of changes. While it cannot hear, it
 * asks the database every time.
 */
export class PostgresAuthenticator implements Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #known = new Lru<string, Remembered>(KNOWN);
  readonly #unknown = new Lru<string, Remembered>(UNKNOWN);
  readonly #lookups: Batcher<Buffer, { caller: Caller | undefined }>;
  /** Counts what was heard: an answer that was asked for before a change is not remembered after it. */
  #generation = 0;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    this.#lookups = new Batcher({ max: 200, run: (hashes) => this.#find(hashes) });
    options.notifications.subscribe({
      channel: KEY_CHANNEL,
      hear: (payload) => this.#forget(keyChangeOf(payload)),
      gap: () => this.#forgetAll(),
    });
  }

  authenticate(secret: string): Caller | Promise<Caller | undefined> {
    if (!secret.startsWith(KEY_PREFIX) || secret.length > MAX_LENGTH) return NOBODY;
    const hash = hashOf(secret);
    const now = this.#options.clock.now();
    const remembered = this.#recall(hash, now);
    if (!remembered) return this.#ask(hash, now);
    return this.#welcome(remembered.caller, now) ?? NOBODY;
  }

  async #ask(hash: string, since: number): Promise<Caller | undefined> {
    const generation = this.#generation;
    const { caller } = await this.#lookups.submit(Buffer.from(hash, "hex"));
    if (generation === this.#generation && this.#options.notifications.live)
      (caller ? this.#known : this.#unknown).set(hash, { caller, since });
    return this.#welcome(caller, this.#options.clock.now());
  }

  /** Looked at here, for what is remembered too: nobody tells when a key expires. */
  #welcome(caller: Caller | undefined, now: number): Caller | undefined {
    const expiresAt = caller?.limits?.expiresAt;
    if (!caller || (expiresAt && expiresAt.getTime() <= now)) return undefined;
    this.#options.uses.note(caller.keyId);
    return caller;
  }

  #recall(hash: string, now: number): Remembered | undefined {
    if (!this.#options.notifications.live) return undefined;
    const remembered = this.#known.get(hash) ?? this.#unknown.get(hash);
    if (!remembered) return undefined;
    const age = now - remembered.since;
    return age >= 0 && age < (remembered.caller ? KNOWN_MS : UNKNOWN_MS) ? remembered : undefined;
  }

  #forget(change: KeyChange | undefined): void {
    if (!change) return;
    this.#generation++;
    if ("key" in change) {
      this.#known.delete(change.key);
      this.#unknown.delete(change.key);
    } else {
      this.#known.deleteWhere(
        ({ caller }) => caller !== undefined && uuidOf("acct", caller.accountId) === change.account,
      );
    }
  }

  #forgetAll(): void {
    this.#generation++;
    this.#known.clear();
    this.#unknown.clear();
  }

  async #find(hashes: readonly Buffer[]): Promise<{ caller: Caller | undefined }[]> {
    const { pool } = this.#options;
    const { rows } = await retrying(PATIENCE_MS, () =>
      pool.query<KeyRow>({
        name: "authenticator-find",
        text: `select key.sha256, key.id, key.account_id, key.scopes, account.rate_per_minute, account.burst, account.operator,
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
  return {
    keyId: idFrom("key", row.id),
    accountId: idFrom("acct", row.account_id),
    scopes: new Set(row.scopes.filter(isScope)),
    tier: { ratePerMinute: row.rate_per_minute, burst: row.burst },
    operator: row.operator,
    limits: limitsOf({
      expiresAt: row.expires_at,
      callLimit: row.call_limit,
      dayLimit: row.day_limit,
      tools: row.tools,
    }),
    budgetId: row.budget_id === null ? undefined : idFrom("key", row.budget_id),
    blockedReason: row.blocked_reason ?? undefined,
  };
}
