import type { Accounts } from "../../app/accounts/accounts.ts";
import type { ApiKeys, KeyGroups } from "../../app/accounts/api-keys.ts";
import { NO_CELL, type Cell } from "../../domain/core/ids.ts";
import type { KeySecrets } from "./api-keys.ts";
import type { Parts } from "../database/parts.ts";
import { RETRY_MS, withRetry } from "../database/retry.ts";

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
  const read = <Result>(work: (stores: OperatorStores) => Promise<Result>) =>
    withRetry(RETRY_MS, async () => work(await open()));
  // Not repeated: what a transaction on a lost connection has done is unknown.
  const change = <Result>(work: (stores: OperatorStores) => Promise<Result>) =>
    withRetry(0, async () => work(await open()));
  return {
    accounts: {
      create: (wallet) => change(({ accounts }) => accounts.create(wallet)),
      adjust: (adjustment) => change(({ accounts }) => accounts.adjust(adjustment)),
      setTier: (accountId, tier) => change(({ accounts }) => accounts.setTier(accountId, tier)),
      setOperator: (accountId, operator) =>
        change(({ accounts }) => accounts.setOperator(accountId, operator)),
      setBlocked: (accountId, block) => change(({ accounts }) => accounts.setBlocked(accountId, block)),
    },
    apiKeys: {
      create: (key) => change(({ apiKeys }) => apiKeys.create(key)),
      connect: (key, consent) => change(({ apiKeys }) => apiKeys.connect(key, consent)),
      grant: (key, grant) => change(({ apiKeys }) => apiKeys.grant(key, grant)),
      get: (keyId) => read(({ apiKeys }) => apiKeys.get(keyId)),
      list: (accountId) => read(({ apiKeys }) => apiKeys.list(accountId)),
      listWithUsage: (accountId) => read(({ apiKeys }) => apiKeys.listWithUsage(accountId)),
      update: (edit) => change(({ apiKeys }) => apiKeys.update(edit)),
      rotate: (rotation) => change(({ apiKeys }) => apiKeys.rotate(rotation)),
      revoke: (keyId, accountId) => change(({ apiKeys }) => apiKeys.revoke(keyId, accountId)),
    },
    keyGroups: {
      create: (group) => change(({ keyGroups }) => keyGroups.create(group)),
      list: (accountId) => read(({ keyGroups }) => keyGroups.list(accountId)),
      update: (edit) => change(({ keyGroups }) => keyGroups.update(edit)),
      delete: (groupId, accountId) => change(({ keyGroups }) => keyGroups.delete(groupId, accountId)),
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
