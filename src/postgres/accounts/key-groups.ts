import type { EntityManager, MikroORM } from "@mikro-orm/postgresql";
import { type GroupChange, type KeyGroup, type KeyGroups, MAX_GROUPS } from "../../app/accounts/api-keys.ts";
import type { BudgetLimits } from "../../domain/accounts/budget.ts";
import type { Clock, Random } from "../../domain/core/clock.ts";
import { requireExpected } from "../../domain/accounts/new-key.ts";
import { ToolgateError } from "../../domain/core/errors.ts";
import { newId, uuidOf } from "../../domain/core/ids.ts";
import { AccountEntity, ApiKeyEntity, BudgetEntity } from "../database/entities/accounts.ts";
import { idFromUuid, uuidFromId } from "../database/row-mapping.ts";
import { changeBudget, findBudgets, lockLimits } from "./budgets.ts";

const INSERT = /* sql */ `
  insert into budget (id, account_id, name, day, month)
  values (?, ?, ?, (now() at time zone 'utc')::date, date_trunc('month', now() at time zone 'utc')::date)`;

/** Groups of API keys on PostgreSQL: budgets with a name. */
export class PostgresKeyGroups implements KeyGroups {
  readonly #orm: MikroORM;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #cell: number;

  constructor(orm: MikroORM, clock: Clock, random: Random, cell: number) {
    this.#orm = orm;
    this.#clock = clock;
    this.#random = random;
    this.#cell = cell;
  }

  async create(group: { accountId: string; name: string; limits: BudgetLimits }): Promise<KeyGroup> {
    const account = uuidOf("acct", group.accountId);
    return this.#orm.em.fork().transactional(async (em) => {
      if (account === undefined || (await em.count(AccountEntity, { id: account })) === 0)
        throw new ToolgateError("NOT_FOUND", "there is no such account");
      await lockLimits(em, account);
      if ((await em.count(BudgetEntity, { account, name: { $ne: null } })) >= MAX_GROUPS)
        throw new ToolgateError(
          "INVALID_REQUEST",
          `the account has ${MAX_GROUPS} groups, as many as it may have; delete one that is not needed`,
        );
      const id = uuidFromId("grp", newId("grp", this.#clock, this.#random, this.#cell));
      await em.execute(INSERT, [id, account, group.name]);
      await changeBudget(em, id, group.limits);
      return this.#read(em, id);
    });
  }

  async list(accountId: string): Promise<KeyGroup[]> {
    const account = uuidOf("acct", accountId);
    return account === undefined ? [] : findGroups(this.#orm.em.fork(), { account });
  }

  async update({ groupId, accountId, name, limits, expected }: GroupChange): Promise<KeyGroup> {
    return this.#orm.em.fork().transactional(async (em) => {
      const { id, account } = await requireGroup(em, groupId, accountId);
      await lockLimits(em, account);
      const old = await this.#read(em, id);
      requireExpected(old.limits, expected);
      if (name !== undefined) await em.nativeUpdate(BudgetEntity, { id }, { name });
      if (limits) await changeBudget(em, id, { ...old.limits, ...limits });
      return this.#read(em, id);
    });
  }

  async delete(groupId: string, accountId: string | undefined): Promise<void> {
    await this.#orm.em.fork().transactional(async (em) => {
      const { id, account } = await requireGroup(em, groupId, accountId);
      await lockLimits(em, account);
      await em.nativeDelete(BudgetEntity, { id });
    });
  }

  async #read(em: EntityManager, id: string): Promise<KeyGroup> {
    const [group] = await findGroups(em, { id });
    if (!group) throw noGroup();
    return group;
  }
}

/**
 * Returns the UUIDs of a group and its account.
 * @param accountId account it must belong to; undefined: any
 * @throws ToolgateError NOT_FOUND, with the same message for another account's group
 */
export async function requireGroup(
  em: EntityManager,
  groupId: string,
  accountId: string | undefined,
): Promise<{ id: string; account: string }> {
  const id = uuidOf("grp", groupId);
  const row = id === undefined ? null : await em.findOne(BudgetEntity, { id, name: { $ne: null } });
  if (!row || (accountId !== undefined && idFromUuid("acct", row.account) !== accountId)) throw noGroup();
  return row;
}

function noGroup(): ToolgateError {
  return new ToolgateError("NOT_FOUND", "there is no such group of keys");
}

/** Oldest first. */
async function findGroups(
  em: EntityManager,
  filter: { account: string } | { id: string },
): Promise<KeyGroup[]> {
  const rows = await em.find(
    BudgetEntity,
    { ...filter, name: { $ne: null } },
    { orderBy: { id: "asc" }, refresh: true },
  );
  const ids = rows.map(({ id }) => id);
  const budgets = await findBudgets(em, ids);
  const keys = await em.find(ApiKeyEntity, { groupId: { $in: ids } }, { orderBy: { id: "asc" } });
  return rows.flatMap(({ id, account, name, createdAt }) => {
    const budget = budgets.get(id);
    const keyIds = keys.filter(({ groupId }) => groupId === id).map((key) => idFromUuid("key", key.id));
    return budget
      ? [
          {
            groupId: idFromUuid("grp", id),
            accountId: idFromUuid("acct", account),
            name: name ?? "",
            limits: budget.limits,
            budgets: budget.uses,
            keyIds,
            createdAt,
          },
        ]
      : [];
  });
}
