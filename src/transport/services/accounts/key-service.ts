import { KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import type { KeyStores } from "../../../app/accounts/api-keys.ts";
import { type KeyRules, nameOf, validateNewKey } from "../../../domain/accounts/new-key.ts";
import { groupMessage, requestedBudget, requestedGroupChange } from "../../budget-message.ts";
import { keyMessage, requestedChange, requestedKey } from "./key-message.ts";
import { bind, OPERATOR, type ServiceBinding } from "../../endpoint.ts";

/** The operator's API key service. @param rules returns the current rules for new keys */
export function keyService(
  { apiKeys: keys, keyGroups: groups }: KeyStores,
  rules: () => KeyRules,
): ServiceBinding {
  return bind(KeyService, OPERATOR, {
    createKey: {
      key: "required",
      action: { name: () => "key.create", target: ({ accountId }) => accountId },
      async handle({ accountId, ...wanted }) {
        const { key, secret } = await keys.create({
          accountId,
          ...validateNewKey(requestedKey(wanted), rules()),
        });
        return { key: keyMessage(key), secret };
      },
    },
    listKeys: {
      key: "required",
      action: "none",
      async handle({ accountId }) {
        return { keys: (await keys.list(accountId)).map(keyMessage) };
      },
    },
    updateKey: {
      key: "required",
      action: { name: () => "key.update", target: ({ keyId }) => keyId },
      async handle({ keyId, ...wanted }) {
        const change = requestedChange(wanted, rules());
        return { key: keyMessage(await keys.update({ keyId, accountId: undefined, ...change })) };
      },
    },
    listKeyGroups: {
      key: "required",
      action: "none",
      async handle({ accountId }) {
        return { groups: (await groups.list(accountId)).map(groupMessage) };
      },
    },
    createKeyGroup: {
      key: "required",
      action: { name: () => "key-group.create", target: ({ accountId }) => accountId },
      async handle({ accountId, name, limits }) {
        const wanted = { accountId, name: nameOf(name), limits: requestedBudget(limits) };
        return { group: groupMessage(await groups.create(wanted)) };
      },
    },
    updateKeyGroup: {
      key: "required",
      action: { name: () => "key-group.update", target: ({ groupId }) => groupId },
      async handle({ groupId, ...wanted }) {
        const change = requestedGroupChange(wanted);
        return { group: groupMessage(await groups.update({ groupId, accountId: undefined, ...change })) };
      },
    },
    deleteKeyGroup: {
      key: "required",
      action: { name: () => "key-group.delete", target: ({ groupId }) => groupId },
      async handle({ groupId }) {
        await groups.delete(groupId, undefined);
        return {};
      },
    },
    revokeKey: {
      key: "required",
      action: { name: () => "key.revoke", target: ({ keyId }) => keyId, idempotencyKey: () => "" },
      async handle({ keyId }) {
        return { key: keyMessage(await keys.revoke(keyId)) };
      },
    },
  });
}
