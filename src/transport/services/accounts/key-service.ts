import { KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import type { ApiKeys } from "../../../app/accounts/api-keys.ts";
import { type KeyRules, validateNewKey } from "../../../domain/accounts/new-key.ts";
import { keyMessage, requestedKey } from "./key-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/**
 * The operator's API key service.
 * @param rules returns the current rules for new keys
 */
export function keyService(keys: ApiKeys, rules: () => KeyRules): ServiceBinding<typeof KeyService> {
  return bind(KeyService, {
    createKey: {
      key: "required",
      operator: true,
      action: { name: () => "key.create", target: ({ accountId }) => accountId },
      async call({ accountId, ...wished }) {
        const { key, secret } = await keys.create({
          accountId,
          ...validateNewKey(requestedKey(wished), rules()),
        });
        return { key: keyMessage(key), secret };
      },
    },
    listKeys: {
      key: "required",
      operator: true,
      action: "none",
      async call({ accountId }) {
        return { keys: (await keys.list(accountId)).map(keyMessage) };
      },
    },
    revokeKey: {
      key: "required",
      operator: true,
      action: { name: () => "key.revoke", target: ({ keyId }) => keyId, idempotencyKey: () => "" },
      async call({ keyId }) {
        return { key: keyMessage(await keys.revoke(keyId)) };
      },
    },
  });
}
