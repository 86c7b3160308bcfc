import type { ApiKeys } from "./api-keys.ts";
import type { BudgetLimits, BudgetUse } from "../../domain/accounts/budget.ts";

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

/** Members are replaced; undefined ones stay as they are. */
export interface GroupChange {
  groupId: string;
  /** Account the group must belong to; undefined: any. */
  accountId: string | undefined;
  name: string | undefined;
  limits: BudgetLimits | undefined;
}

/** Maximum groups of an account. */
export const MAX_GROUPS = 50;

/** Groups of API keys, for operators and account holders. */
export interface KeyGroups {
  /** @throws ToolgateError NOT_FOUND for an unknown account; INVALID_REQUEST at {@link MAX_GROUPS} */
  create(group: { accountId: string; name: string; limits: BudgetLimits }): Promise<KeyGroup>;
  /** Oldest first. */
  list(accountId: string): Promise<KeyGroup[]>;
  /** @throws ToolgateError NOT_FOUND, also for a group of another account */
  update(change: GroupChange): Promise<KeyGroup>;
  /** Its keys stay, without a group. @throws ToolgateError NOT_FOUND, also for a group of another account */
  delete(groupId: string, accountId: string | undefined): Promise<void>;
}

/** The stores that administer keys. */
export interface KeyStores {
  readonly apiKeys: ApiKeys;
  readonly keyGroups: KeyGroups;
}
