import os from "node:os";
import process from "node:process";
import { recordedAction } from "../app/operations/operator-actions.ts";
import type { ActionName, Actor, NewAction, SealingKeyAdmin } from "../app/operations/operator-actions.ts";
import type { TierChange } from "../app/accounts/accounts.ts";
import { requireApplied } from "../app/operations/config-versions.ts";
import type { JsonObject, JsonValue } from "../domain/core/json.ts";
import type { Log } from "../domain/core/log.ts";
import type { Postgres } from "../postgres/index.ts";

type Accounts = Postgres["accounts"];
type ApiKeys = Postgres["apiKeys"];
type KeyGroups = Postgres["keyGroups"];

type Act = <Result>(
  name: ActionName,
  target: string,
  given: { details: object; idempotencyKey?: string },
  work: () => Promise<Result>,
) => Promise<Result>;

/** Wraps the ports so that each change is written to the operator log before it is made. */
export function withOperatorLog(postgres: Postgres, log: Log): Postgres {
  const { suspense, refunds, balanceSteps, operatorActions: actions } = postgres;
  const actor = commandActor();
  const act: Act = (name, target, { details, idempotencyKey }, work) => {
    const action: NewAction = { actor, name, target, details: detailsOf(details), idempotencyKey };
    return recordedAction({ actions, log }, action, work);
  };
  return {
    ...postgres,
    accounts: loggedAccounts(postgres.accounts, act),
    apiKeys: loggedKeys(postgres.apiKeys, act),
    keyGroups: loggedGroups(postgres.keyGroups, act),
    configVersions: loggedConfig(postgres.configVersions, actor.name, act),
    sealingKeyAdmin: loggedSealingKeys(postgres.sealingKeyAdmin, act),
    suspense: {
      list: (query) => suspense.list(query),
      assign: (assignment) => {
        const { txSignature, to, reason } = assignment;
        const owner = to === "operator" ? { operator: true } : { account_id: to.accountId };
        const given = {
          details: { tx_signature: txSignature, ...owner, reason },
          idempotencyKey: to === "operator" ? to : to.accountId,
        };
        return act("suspense.assign", txSignature, given, () => suspense.assign(assignment));
      },
    },
    balanceSteps: {
      unexplained: (accountId) => balanceSteps.unexplained(accountId),
      explain: (step, reason) => {
        const { accountId, number } = step;
        const given = { details: { account_id: accountId, number, reason }, idempotencyKey: number };
        return act("balance.explain", accountId, given, () => balanceSteps.explain(step, reason));
      },
    },
    refunds: {
      refund: (refund) => {
        const { receiptId, reason } = refund;
        const details = { receipt_id: receiptId, reason };
        return act("receipt.refund", receiptId, { details, idempotencyKey: "" }, () =>
          refunds.refund(refund),
        );
      },
    },
  };
}

/** The document is in the history, so the log names its version only. */
function loggedConfig(
  versions: Postgres["configVersions"],
  actor: string,
  act: Act,
): Postgres["configVersions"] {
  return {
    newest: () => versions.newest(),
    newestNumber: () => versions.newestNumber(),
    find: (version) => versions.find(version),
    list: (query) => versions.list(query),
    tiersMissed: (tiers) => versions.tiersMissed(tiers),
    use: (version) => versions.use(version),
    instances: () => versions.instances(),
    onChange: (listener) => versions.onChange(listener),
    get live() {
      return versions.live;
    },
    apply: (version) => {
      const { source, expected, note } = version;
      const target = `configuration after version ${expected ?? "any"}`;
      const name = source === "rollback" ? "config.rollback" : "config.apply";
      return act(name, target, { details: { expected_version: expected, note } }, async () =>
        requireApplied(await versions.apply({ ...version, actor }), expected),
      );
    },
  };
}

function loggedAccounts(accounts: Accounts, act: Act): Accounts {
  return {
    ...accounts,
    create: (wallet) =>
      act("account.create", wallet, { details: { wallet }, idempotencyKey: "" }, () =>
        accounts.create(wallet),
      ),
    adjust: (adjustment) => {
      const { accountId, amount, reason, idempotencyKey } = adjustment;
      const details = {
        account_id: accountId,
        amount_usdc_microusd: amount,
        reason,
        idempotency_key: idempotencyKey,
      };
      const given = { details, idempotencyKey: `${amount} ${idempotencyKey}` };
      return act("account.adjust", accountId, given, () => accounts.adjust(adjustment));
    },
    setTier: (accountId, tier) => {
      const details = { account_id: accountId, ...tierDetails(tier) };
      return act("account.tier", accountId, { details }, () => accounts.setTier(accountId, tier));
    },
    setOperator: (accountId, operator) => {
      const details = { account_id: accountId, operator };
      return act("account.operator", accountId, { details }, () => accounts.setOperator(accountId, operator));
    },
    setBlocked: (accountId, block) => {
      const name = block.blocked ? "account.block" : "account.unblock";
      const details = { account_id: accountId, ...block };
      return act(name, accountId, { details }, () => accounts.setBlocked(accountId, block));
    },
  };
}

function loggedKeys(apiKeys: ApiKeys, act: Act): ApiKeys {
  return {
    ...apiKeys,
    create: (key) => {
      const { accountId, ...more } = key;
      const details = { account_id: accountId, ...more };
      return act("key.create", accountId, { details }, () => apiKeys.create(key));
    },
    update: ({ keyId, accountId, ...change }) => {
      const details = { key_id: keyId, ...change };
      return act("key.update", keyId, { details }, () => apiKeys.update({ keyId, accountId, ...change }));
    },
    rotate: (key) => {
      const details = { key_id: key.keyId, overlap_seconds: key.overlapSeconds };
      return act("key.rotate", key.keyId, { details }, () => apiKeys.rotate(key));
    },
    revoke: (keyId, accountId) => {
      const details = { key_id: keyId, account_id: accountId };
      return act("key.revoke", keyId, { details, idempotencyKey: "" }, () =>
        apiKeys.revoke(keyId, accountId),
      );
    },
  };
}

function loggedGroups(groups: KeyGroups, act: Act): KeyGroups {
  return {
    list: (accountId) => groups.list(accountId),
    create: ({ accountId, ...more }) => {
      const details = { account_id: accountId, ...more };
      return act("key-group.create", accountId, { details }, () => groups.create({ accountId, ...more }));
    },
    update: ({ groupId, accountId, ...change }) => {
      const details = { group_id: groupId, ...change };
      return act("key-group.update", groupId, { details }, () =>
        groups.update({ groupId, accountId, ...change }),
      );
    },
    delete: (groupId, accountId) => {
      const details = { group_id: groupId };
      return act("key-group.delete", groupId, { details }, () => groups.delete(groupId, accountId));
    },
  };
}

function loggedSealingKeys(keys: SealingKeyAdmin, act: Act): SealingKeyAdmin {
  return {
    list: (purpose) => keys.list(purpose),
    rotate: (rotation) =>
      act("sealing-key.rotate", rotation.purpose, { details: rotation }, () => keys.rotate(rotation)),
    retire: (retirement) => {
      const target = `${retirement.purpose} ${retirement.version}`;
      return act("sealing-key.retire", target, { details: retirement }, () => keys.retire(retirement));
    },
  };
}

/** The actor of commands: the system's user. */
export function commandActor(): Actor {
  return { accountId: undefined, name: `cli:${userName()}` };
}

/** Falls back to the uid when the system has no name for it. */
function userName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown");
  }
}

/** Converts values that JSON lacks: bigint and dates to strings, sets to arrays, undefined to null. */
function detailsOf(details: object): JsonObject {
  const members = Object.entries(details).filter(([, value]) => value !== undefined);
  return Object.fromEntries(members.map(([name, value]) => [name, jsonOf(value)]));
}

function jsonOf(value: unknown): JsonValue {
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Set || Array.isArray(value)) return [...value].map(jsonOf);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, jsonOf(member)]));
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function tierDetails({
  tier,
  ratePerMinute,
  burst,
  accountRatePerMinute,
  accountBurst,
}: TierChange): Record<string, unknown> {
  return {
    tier,
    rate_per_minute: ratePerMinute,
    burst,
    account_rate_per_minute: accountRatePerMinute,
    account_burst: accountBurst,
  };
}
