import type { KeyLimits } from "../../domain/accounts/caller.ts";
import type { NewKey } from "../../domain/accounts/new-key.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import type { MicroUsd } from "../../domain/core/money.ts";

/** An API key without its secret. */
export interface ApiKey {
  keyId: string;
  accountId: string;
  prefix: string;
  name: string;
  scopes: Scope[];
  limits: KeyLimits | undefined;
  createdAt: Date;
  revokedAt: Date | undefined;
}

/** `lastUsedAt` is accurate to ten seconds; undefined: never used. */
export interface ListedKey extends ApiKey {
  lastUsedAt: Date | undefined;
}

export interface KeyUsage extends ListedKey {
  /** Spent of the daily limit today (UTC) by all keys that share it, micro-USD; 0n without a limit. */
  dayUsed: MicroUsd;
  /** Total charged, without subtracting refunds, micro-USD. */
  spent: MicroUsd;
  chargedCalls: bigint;
}

/** The key to replace and how long it stays valid, seconds; 0 revokes it at once. */
export interface Rotation {
  keyId: string;
  /** Account the key must belong to; undefined: any. */
  accountId: string | undefined;
  overlapSeconds: number;
}

/** Limit of active keys (neither revoked nor expired) per account. */
export const MAX_ACTIVE_KEYS = 100;

/** API key administration, for operators and account holders. */
export interface ApiKeys {
  /**
   * `secret` is `sk-agent-…`; it is not stored in readable form.
   * @throws ToolgateError NOT_FOUND for an unknown account; INVALID_REQUEST at {@link MAX_ACTIVE_KEYS} or
   * too many new keys within a day
   */
  create(key: NewKey & { accountId: string }): Promise<{ key: ApiKey; secret: string }>;
  /** Newest first, including revoked and expired keys; undefined: of all accounts. */
  list(accountId: string | undefined): Promise<ListedKey[]>;
  /** {@link list} of one account with usage. */
  listWithUsage(accountId: string): Promise<KeyUsage[]>;
  /**
   * Creates a key with the same settings and a shared daily budget.
   * @throws ToolgateError NOT_FOUND, also for a key of another account; INVALID_REQUEST for a key that is
   * inactive or already replaced, and as {@link create}
   */
  rotate(rotation: Rotation): Promise<{ key: ApiKey; secret: string; oldKey: ApiKey }>;
  /** Idempotent. @throws ToolgateError NOT_FOUND, also for a key of another account */
  revoke(keyId: string, accountId?: string): Promise<ApiKey>;
}
