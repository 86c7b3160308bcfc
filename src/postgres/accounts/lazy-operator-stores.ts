import type { Accounts } from "../../app/accounts/accounts.ts";
import type { ApiKeys, KeyGroups } from "../../app/accounts/api-keys.ts";
import { NO_CELL, type Cell } from "../../domain/core/ids.ts";
import type { KeySecrets } from "./api-keys.ts";
import type { Parts } from "../database/parts.ts";

/** Stores for rare operator requests, on their own connections. */
interface OperatorStores {
  readonly accounts: Omit<Accounts, "get" | "list">;
  readonly apiKeys: ApiKeys;
  readonly keyGroups: KeyGroups;
  close(): Promise<void>;
}

interface OperatorStoresOptions extends Pick<Parts, "clock" | "random"> {
  url: string;
  keySecrets: KeySecrets;
  readAccount: Accounts["get"];
  cell?: Cell;
}

const CONNECTIONS = 2;

/**
 * Returns the operator stores. Imports MikroORM on first use: it takes half of the start-up time, and calls
 * do not need it.
 */
export function lazyOperatorStores(options: OperatorStoresOptions): OperatorStores {
  let opened: Promise<OperatorStores> | undefined;
  const open = () => (opened ??= openOperatorStores(options));
  return {
    accounts: {
      create: async (wallet) => (await open()).accounts.create(wallet),
      adjust: async (adjustment) => (await open()).accounts.adjust(adjustment),
      setTier: async (accountId, tier) => (await open()).accounts.setTier(accountId, tier),
      setOperator: async (accountId, operator) => (await open()).accounts.setOperator(accountId, operator),
      setBlocked: async (accountId, block) => (await open()).accounts.setBlocked(accountId, block),
    },
    apiKeys: {
      create: async (key) => (await open()).apiKeys.create(key),
      get: async (keyId) => (await open()).apiKeys.get(keyId),
      list: async (accountId) => (await open()).apiKeys.list(accountId),
      listWithUsage: async (accountId) => (await open()).apiKeys.listWithUsage(accountId),
      update: async (change) => (await open()).apiKeys.update(change),
      rotate: async (rotation) => (await open()).apiKeys.rotate(rotation),
      revoke: async (keyId, accountId) => (await open()).apiKeys.revoke(keyId, accountId),
    },
    keyGroups: {
      create: async (group) => (await open()).keyGroups.create(group),
      list: async (accountId) => (await open()).keyGroups.list(accountId),
      update: async (change) => (await open()).keyGroups.update(change),
      delete: async (groupId, accountId) => (await open()).keyGroups.delete(groupId, accountId),
    },
    close: async () => (await opened)?.close(),
  };
}

async function openOperatorStores({
  url,
  clock,
  random,
  keySecrets,
  readAccount,
  cell: { number: cell } = NO_CELL,
}: OperatorStoresOptions): Promise<OperatorStores> {
  const [{ openOrm }, { PostgresAccounts }, { PostgresApiKeys }, { PostgresKeyGroups }] = await Promise.all([
    import("../database/orm.ts"),
    import("./accounts.ts"),
    import("./api-keys.ts"),
    import("./key-groups.ts"),
  ]);
  const orm = await openOrm(url, CONNECTIONS);
  return {
    accounts: new PostgresAccounts(orm, clock, random, readAccount, cell),
    apiKeys: new PostgresApiKeys(orm, clock, random, keySecrets, cell),
    keyGroups: new PostgresKeyGroups(orm, clock, random, cell),
    close: () => orm.close(),
  };
}
