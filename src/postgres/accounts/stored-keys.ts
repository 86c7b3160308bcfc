import type { InferEntity } from "@mikro-orm/core";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { ApiKey } from "../../app/accounts/api-keys.ts";
import { TOKEN_PREFIX } from "../../domain/accounts/api-key.ts";
import { NO_LIMITS } from "../../domain/accounts/budget.ts";
import { isScope } from "../../domain/accounts/scope.ts";
import type { OAuthClient } from "../../domain/accounts/oauth-client.ts";
import { ApiKeyEntity } from "../database/entities/accounts.ts";
import { OAuthGrantEntity } from "../database/entities/oauth.ts";
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
  const clients = await findClients(em, rows);
  return rows.map((row) => toApiKey(row, budgets.get(row.budgetId ?? ""), clients.get(row.id)));
}

/** The applications that use keys, by the UUIDs of the keys. */
async function findClients(em: EntityManager, keys: readonly KeyRow[]): Promise<Map<string, OAuthClient>> {
  const connected = keys.filter(({ prefix }) => prefix === TOKEN_PREFIX).map(({ id }) => id);
  const grants = connected.length === 0 ? [] : await em.find(OAuthGrantEntity, { key: { $in: connected } });
  return new Map(
    grants.map(({ key, clientId, name, host, verified }) => [key, { clientId, name, host, verified }]),
  );
}

function toApiKey(row: KeyRow, budget: Budget | undefined, client: OAuthClient | undefined): ApiKey {
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
    client,
  };
}
