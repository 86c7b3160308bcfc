import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type ApiKey as ApiKeyMessage, ApiKeySchema, KeyService } from "#gen/toolgate/v1/key_service_pb.ts";
import type { ApiKey, ApiKeys } from "../../app/ports.ts";
import { invalidField } from "../../domain/errors.ts";
import { DEFAULT_SCOPES, isScope, SCOPES, type Scope } from "../../domain/scope.ts";
import { bind, type ServiceBinding } from "./service-impl.ts";

/** The operator's work with API keys. */
export function keyService(keys: ApiKeys): ServiceBinding<typeof KeyService> {
  return bind(KeyService, {
    createKey: {
      key: "required",
      operator: true,
      async call({ accountId, name, scopes }) {
        const { key, secret } = await keys.create({ accountId, name, scopes: parseScopes(scopes) });
        return { key: keyMessage(key), secret };
      },
    },
    listKeys: {
      key: "required",
      operator: true,
      async call({ accountId }) {
        return { keys: (await keys.list(accountId)).map(keyMessage) };
      },
    },
    revokeKey: {
      key: "required",
      operator: true,
      async call({ keyId }) {
        return { key: keyMessage(await keys.revoke(keyId)) };
      },
    },
  });
}

function parseScopes(names: readonly string[]): readonly Scope[] {
  if (names.length === 0) return DEFAULT_SCOPES;
  return names.map((name, index) => {
    if (!isScope(name)) throw invalidField(`scopes[${index}]`, `must be one of ${SCOPES.join(", ")}`);
    return name;
  });
}

function keyMessage({ createdAt, revokedAt, ...key }: ApiKey): ApiKeyMessage {
  return create(ApiKeySchema, {
    ...key,
    createdAt: timestampFromDate(createdAt),
    revokedAt: revokedAt && timestampFromDate(revokedAt),
  });
}
