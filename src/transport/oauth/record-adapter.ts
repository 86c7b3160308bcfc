import type { Adapter, AdapterPayload, errors as Errors } from "oidc-provider";
import type { ApiKeys } from "../../app/accounts/api-keys.ts";
import { RECORD_MODELS, type OAuthRecords, type RecordModel } from "../../app/oauth/oauth-records.ts";
import { uuidOf } from "../../domain/core/ids.ts";
import { objectOf, parsedJson, textOf } from "../../domain/core/json.ts";
import type { ClientSecrets } from "./client-secrets.ts";

export interface AdapterParts {
  readonly records: OAuthRecords;
  readonly apiKeys: Pick<ApiKeys, "revoke">;
  readonly secrets: ClientSecrets;
  /** ms */
  readonly now: () => number;
  readonly errors: typeof Errors;
}

/** What is not stored: sessions, because a person signs in at the console and consents each time. */
const NOTHING: Adapter = {
  upsert: async () => {},
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => {},
  destroy: async () => {},
  // The grant is destroyed with them, which ends its key and so all of its tokens.
  revokeByGrantId: async () => {},
};

/** The library's storage: grants are API keys, all else are records. */
export function adapterOf(name: string, parts: AdapterParts): Adapter {
  if (name === "Grant") return grantAdapter(parts);
  const model = RECORD_MODELS.find((one) => one === name);
  if (model === undefined) return NOTHING;
  return model === "Client" ? clientAdapter(parts) : recordAdapter(model, parts);
}

function grantAdapter({ records, apiKeys }: AdapterParts): Adapter {
  return {
    ...NOTHING,
    async find(keyId) {
      const key = await records.connectedKey(keyId);
      if (!key) return undefined;
      const { accountId, clientId, resource, scopes, expiresAt } = key;
      return {
        kind: "Grant",
        jti: keyId,
        accountId,
        clientId,
        resources: { [resource]: scopes.join(" ") },
        ...(expiresAt && { exp: Math.floor(expiresAt.getTime() / 1000) }),
      };
    },
    destroy: async (keyId) => void (await apiKeys.revoke(keyId)),
  };
}

/** Secrets of clients are derived from their identifiers, so that none are stored. */
function clientAdapter({ records, secrets }: AdapterParts): Adapter {
  return {
    ...NOTHING,
    async find(clientId) {
      const record = await records.find("Client", clientId);
      if (!record) return undefined;
      const { secret_version: version, ...metadata } = record.payload;
      const secret = typeof version === "number" ? await secrets.of(clientId, version) : undefined;
      return { ...metadata, client_id: clientId, ...(secret !== undefined && { client_secret: secret }) };
    },
  };
}

/** Under the hash of its identifier, which is a secret and so left out of what is stored. */
function recordAdapter(model: RecordModel, { records, apiKeys, now, errors }: AdapterParts): Adapter {
  return {
    ...NOTHING,
    async upsert(id, { jti: _, ...payload }, expiresIn = 0) {
      const { grantId } = payload;
      const keyId = grantId !== undefined && uuidOf("key", grantId) !== undefined ? grantId : undefined;
      const expiresAt = new Date(now() + expiresIn * 1000);
      await records.save(model, id, { payload: jsonOf(payload), expiresAt, keyId });
    },
    async find(id) {
      const record = await records.find(model, id);
      return record && { ...record.payload, jti: id, ...(record.consumedAt && { consumed: true }) };
    },
    async consume(id) {
      if (await records.consume(model, id)) return;
      // Used at the same time on another instance: one of the two is not its owner.
      const keyId = textOf((await records.find(model, id))?.payload["grantId"]);
      if (keyId !== "") await apiKeys.revoke(keyId);
      throw new errors.InvalidGrant("was used before");
    },
    async destroy(id) {
      const removed = await records.remove(model, id);
      if (!removed && model === "Interaction")
        throw new errors.SessionNotFound("the request was answered before");
    },
  };
}

/** Without members that are undefined. */
function jsonOf(payload: AdapterPayload) {
  return objectOf(parsedJson(JSON.stringify(payload)));
}
