import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { KeyService, type KeyWithUseSchema } from "#gen/toolgate/console/v1/key_service_pb.ts";
import type { ApiKeys, KeyUsage } from "../../../app/accounts/api-keys.ts";
import { type KeyRules, validateNewKey } from "../../../domain/accounts/new-key.ts";
import { keyMessage, requestedKey } from "./key-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/**
 * The signed-in account's API keys.
 * @param rules returns the current rules for new keys
 */
export function consoleKeyService(keys: ApiKeys, rules: () => KeyRules): ServiceBinding<typeof KeyService> {
  return bind(KeyService, {
    listKeys: {
      key: "required",
      async call(_request, { caller }) {
        return { keys: (await keys.listWithUsage(caller.accountId)).map(useMessage) };
      },
    },
    createKey: {
      key: "required",
      refuseBlocked: true,
      async call(request, { caller: { accountId } }) {
        const { key, secret } = await keys.create({
          accountId,
          ...validateNewKey(requestedKey(request), rules()),
        });
        return { key: keyMessage(key), secret };
      },
    },
    rotateKey: {
      key: "required",
      refuseBlocked: true,
      async call({ keyId, overlapSeconds }, { caller: { accountId } }) {
        const { key, secret, oldKey } = await keys.rotate({ keyId, accountId, overlapSeconds });
        return { key: keyMessage(key), secret, oldKey: keyMessage(oldKey) };
      },
    },
    revokeKey: {
      key: "required",
      async call({ keyId }, { caller: { accountId } }) {
        return { key: keyMessage(await keys.revoke(keyId, accountId)) };
      },
    },
  });
}

function useMessage(key: KeyUsage): MessageInitShape<typeof KeyWithUseSchema> {
  return {
    key: keyMessage(key),
    lastUsedAt: key.lastUsedAt && timestampFromDate(key.lastUsedAt),
    dayUsedUsdcMicrousd: key.dayUsed,
    spentUsdcMicrousd: key.spent,
    chargedCalls: key.chargedCalls,
  };
}
