import type { OAuthClient } from "../../domain/accounts/oauth-client.ts";
import type { BudgetUse, KeyLimits, BudgetLimits } from "../../domain/accounts/budget.ts";
import type { KeyChange, NewKey } from "../../domain/accounts/new-key.ts";
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
  /** `grp_…` */
  groupId: string | undefined;
  /** Limits per day, per month and in all, with their use; shared by a key and its replacements. */
  budgets: readonly BudgetUse[];
  createdAt: Date;
  revokedAt: Date | undefined;
  /** The application that uses it by OAuth: its secret does not exist then. Undefined for other keys. */
  client: OAuthClient | undefined;
}

/** A person's consent, which creates a key for an application. */
export interface Consent {
  /** The request of the application, which it answers. */
  readonly interactionId: string;
  readonly client: OAuthClient;
  /** Audience of the tokens. */
  readonly resource: string;
}

/** `lastUsedAt` is accurate to ten seconds; undefined: never used. */
export interface ListedKey extends ApiKey {
  lastUsedAt: Date | undefined;
}

export interface KeyUsage extends ListedKey {
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
  /**
   * Creates the key of an application and answers its request, both or neither.
   * @throws ToolgateError as {@link create}; INVALID_REQUEST for a request that was answered or has expired
   */
  connect(key: NewKey & { accountId: string }, consent: Consent): Promise<ApiKey>;
  /**
   * Creates the key of an identity that is trusted without a consent, unless there was one: also one that was
   * revoked or has expired stays the only one.
   * @param grant its `hash`: of the identity, hex
   * @throws ToolgateError as {@link create}
   */
  grant(
    key: NewKey & { accountId: string },
    grant: Pick<Consent, "client" | "resource"> & { hash: string },
  ): Promise<void>;
  /** @throws ToolgateError NOT_FOUND */
  get(keyId: string): Promise<ApiKey>;
  /** Newest first, including revoked and expired keys; undefined: of all accounts. */
  list(accountId: string | undefined): Promise<ListedKey[]>;
  /** {@link list} of one account with usage. */
  listWithUsage(accountId: string): Promise<KeyUsage[]>;
  /**
   * Changes a key's name, limits or group. Calls that are authorized later find the new limits; earlier ones
   * count.
   * @throws ToolgateError NOT_FOUND, also for a key of another account; INVALID_REQUEST for a key that is
   * inactive or replaced, for other limits than the expected ones, and for an unknown group
   */
  update(change: KeyChange & { keyId: string; accountId: string | undefined }): Promise<ApiKey>;
  /**
   * Creates a key with the same settings and a shared budget.
   * @throws ToolgateError NOT_FOUND, also for a key of another account; INVALID_REQUEST for a key that is
   * inactive, already replaced or of an application, and as {@link create}
   */
  rotate(rotation: Rotation): Promise<{ key: ApiKey; secret: string; oldKey: ApiKey }>;
  /** Idempotent. @throws ToolgateError NOT_FOUND, also for a key of another account */
  revoke(keyId: string, accountId?: string): Promise<ApiKey>;
}

/** Keys of an account that share a budget. */
export interface KeyGroup {
  /** `grp_…` */
  groupId: string;
  accountId: string;
  name: string;
  limits: BudgetLimits;
  /** Every period, also those without a limit. */
  budgets: readonly BudgetUse[];
  /** Identifiers of its keys, including inactive ones. */
  keyIds: readonly string[];
  createdAt: Date;
}

/** Members are replaced; undefined ones, and limits that are left out, stay as they are. */
export interface GroupChange {
  groupId: string;
  /** Account the group must belong to; undefined: any. */
  accountId: string | undefined;
  name: string | undefined;
  limits: Partial<BudgetLimits> | undefined;
  /** The limits that the change was made for; undefined: any. */
  expected?: BudgetLimits | undefined;
}

export const MAX_GROUPS = 50;

/** Groups of API keys, for operators and account holders. */
export interface KeyGroups {
  /** @throws ToolgateError NOT_FOUND for an unknown account; INVALID_REQUEST at {@link MAX_GROUPS} */
  create(group: { accountId: string; name: string; limits: BudgetLimits }): Promise<KeyGroup>;
  /** Oldest first. */
  list(accountId: string): Promise<KeyGroup[]>;
  /**
   * @throws ToolgateError NOT_FOUND, also for a group of another account; INVALID_REQUEST for other limits
   * than the expected ones
   */
  update(change: GroupChange): Promise<KeyGroup>;
  /** Its keys stay, without a group. @throws ToolgateError NOT_FOUND, also for a group of another account */
  delete(groupId: string, accountId: string | undefined): Promise<void>;
}

export interface KeyStores {
  readonly apiKeys: ApiKeys;
  readonly keyGroups: KeyGroups;
}
