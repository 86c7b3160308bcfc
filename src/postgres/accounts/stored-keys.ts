import type { InferEntity } from "@mikro-orm/core";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { ApiKey } from "../../app/accounts/api-keys.ts";
import { NO_LIMITS } from "../../domain/accounts/budget.ts";
import { isScope } from "../../domain/accounts/scope.ts";
import { ApiKeyEntity } from "../database/entities/accounts.ts";
import { idFromUuid } from "../database/row-mapping.ts";
import { type Budget, findBudgets } from "./budgets.ts";
import { limitsOf } from "./key-rows.ts";

export type KeyRow = InferEntity<typeof ApiKeyEntity>;

/** Reads a key that exists. */
export async function readKey(em: EntityManager, id: string): Promise<ApiKey> {
  const [key] = await toApiKeys(em, [await em.findOneOrFail(ApiKeyEntity, { id }, { refresh: true })]);
  if (!key) throw new Error("a key has just been deleted");
  return key;
}

/** Keys with their limits, in the order of the rows. */
export async function toApiKeys(em: EntityManager, rows: readonly KeyRow[]): Promise<ApiKey[]> {
  const budgets = await findBudgets(em, [...new Set(rows.flatMap(({ budgetId }) => budgetId ?? []))]);
  return rows.map((row) => toApiKey(row, budgets.get(row.budgetId ?? "")));
}

function toApiKey(row: KeyRow, budget: Budget | undefined): ApiKey {
  const access = limitsOf(row);
  return {
    keyId: idFromUuid("key", row.id),
    accountId: idFromUuid("acct", row.account),
    prefix: row.prefix,
    name: row.name,
    scopes: row.scopes.filter(isScope),
    limits: access || budget ? { ...NO_LIMITS, ...access, ...budget?.limits } : undefined,
    groupId: row.groupId ? idFromUuid("grp", row.groupId) : undefined,
    budgets: budget?.uses.filter(({ limit }) => limit !== undefined) ?? [],
    createdAt: row.createdAt,
    revokedAt: row.revokedAt ?? undefined,
  };
}
