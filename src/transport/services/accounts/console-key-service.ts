import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { KeyService, type KeyWithUseSchema } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { KeyUsage, KeyStores } from "../../../app/accounts/api-keys.ts";
import { type KeyRules, nameOf, validateNewKey } from "../../../domain/accounts/new-key.ts";
import { groupMessage, requestedBudget, requestedGroupChange } from "../../budget-message.ts";
import { keyMessage, requestedChange, requestedKey } from "./key-message.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

/** The signed-in account's API keys. @param rules returns the current rules for new keys */
export function consoleKeyService(
  { apiKeys: keys, keyGroups: groups }: KeyStores,
  rules: () => KeyRules,
): ServiceBinding {
  return bind(KeyService, KEY, {
    async listKeys(_request, { caller }) {
      return { keys: (await keys.listWithUsage(caller.accountId)).map(useMessage) };
    },
    createKey: {
      key: "required",
      refuseBlocked: true,
      async handle(request, { caller: { accountId } }) {
        const { key, secret } = await keys.create({
          accountId,
          ...validateNewKey(requestedKey(request), rules()),
        });
        return { key: keyMessage(key), secret };
      },
    },
    updateKey: {
      key: "required",
      refuseBlocked: true,
      async handle({ keyId, ...wanted }, { caller: { accountId } }) {
        const change = requestedChange(wanted, rules());
        return { key: keyMessage(await keys.update({ keyId, accountId, ...change })) };
      },
    },
    async listKeyGroups(_request, { caller: { accountId } }) {
      return { groups: (await groups.list(accountId)).map(groupMessage) };
    },
    createKeyGroup: {
      key: "required",
      refuseBlocked: true,
      async handle({ name, limits }, { caller: { accountId } }) {
        const wanted = { accountId, name: nameOf(name), limits: requestedBudget(limits) };
        return { group: groupMessage(await groups.create(wanted)) };
      },
    },
    updateKeyGroup: {
      key: "required",
      refuseBlocked: true,
      async handle({ groupId, ...wanted }, { caller: { accountId } }) {
        const change = requestedGroupChange(wanted);
        return { group: groupMessage(await groups.update({ groupId, accountId, ...change })) };
      },
    },
    async deleteKeyGroup({ groupId }, { caller: { accountId } }) {
      await groups.delete(groupId, accountId);
      return {};
    },
    rotateKey: {
      key: "required",
      refuseBlocked: true,
      async handle({ keyId, overlapSeconds }, { caller: { accountId } }) {
        const { key, secret, oldKey } = await keys.rotate({ keyId, accountId, overlapSeconds });
        return { key: keyMessage(key), secret, oldKey: keyMessage(oldKey) };
      },
    },
    async revokeKey({ keyId }, { caller: { accountId } }) {
      return { key: keyMessage(await keys.revoke(keyId, accountId)) };
    },
  });
}

function useMessage(key: KeyUsage): MessageInitShape<typeof KeyWithUseSchema> {
  return {
    key: keyMessage(key),
    dayUsedUsdcMicrousd: usedToday(key),
    lastUsedAt: key.lastUsedAt && timestampFromDate(key.lastUsedAt),
    spentUsdcMicrousd: key.spent,
    chargedCalls: key.chargedCalls,
  };
}

function usedToday({ budgets }: KeyUsage): bigint {
  const today = budgets.find(({ period }) => period === "day");
  return today ? today.spent + today.held : 0n;
}
