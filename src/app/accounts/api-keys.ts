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

/** An API key, and when it was last used: to ten seconds, and undefined when never. */
export interface ListedKey extends ApiKey {
  lastUsedAt: Date | undefined;
}

/** An API key, and what its calls have cost. */
export interface KeyUsage extends ListedKey {
  /** What its limit per day has counted today (UTC), for all keys that share it, micro-USD; 0n without such a limit. */
  dayUsed: MicroUsd;
  /** What its calls were charged in all, refunds not taken off, micro-USD. */
  spent: MicroUsd;
  chargedCalls: bigint;
}

/** Which key is to be replaced, and for how long it goes on to work, seconds; with 0 it is revoked at once. */
export interface Rotation {
  keyId: string;
  /** Only a key of this account; undefined: any. */
  accountId: string | undefined;
  overlapSeconds: number;
}

/** Keys that are neither revoked nor expired, of an account, at most. */
export const MAX_ACTIVE_KEYS = 100;

/** The work with API keys, the operator's and that of their owners. */
export interface ApiKeys {
  /**
   * `secret` is `sk-agent-…` and is stored only as its SHA-256.
   * @throws ToolgateError NOT_FOUND for an unknown account; INVALID_REQUEST when it has {@link MAX_ACTIVE_KEYS}, or made too many within a day
   */
  create(key: NewKey & { accountId: string }): Promise<{ key: ApiKey; secret: string }>;
  /** Newest first, revoked and expired ones included; all accounts when undefined. */
  list(accountId: string | undefined): Promise<ListedKey[]>;
  /** {@link list} of one account, with figures. */
  listWithUsage(accountId: string): Promise<KeyUsage[]>;
  /**
   * Makes a key like that one, with which it shares what may be spent on a day.
   * @throws ToolgateError NOT_FOUND, for a foreign key too; INVALID_REQUEST for one that no longer works or was replaced before, and as
   * {@link create}
   */
  rotate(rotation: Rotation): Promise<{ key: ApiKey; secret: string; oldKey: ApiKey }>;
  /** Revokes, once; only a key of that account, unless undefined. @throws ToolgateError NOT_FOUND */
  revoke(keyId: string, accountId?: string): Promise<ApiKey>;
}
