import { create } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type ApiKey as ApiKeyMessage,
  ApiKeySchema,
  type KeyLimits as KeyLimitsMessage,
  KeyLimitsSchema,
} from "#gen/toolgate/v1/key_service_pb.ts";
import type { ApiKey } from "../../../app/accounts/api-keys.ts";
import type { KeyLimits } from "../../../domain/accounts/caller.ts";
import type { RequestedKey } from "../../../domain/accounts/new-key.ts";

/** Returns the message of a key, without its secret. */
export function keyMessage({ createdAt, revokedAt, limits, ...key }: ApiKey): ApiKeyMessage {
  return create(ApiKeySchema, {
    keyId: key.keyId,
    accountId: key.accountId,
    prefix: key.prefix,
    name: key.name,
    scopes: key.scopes,
    createdAt: timestampFromDate(createdAt),
    revokedAt: revokedAt && timestampFromDate(revokedAt),
    limits: limits && limitsMessage(limits),
  });
}

function limitsMessage({ expiresAt, perCall, perDay, tools }: KeyLimits): KeyLimitsMessage {
  return create(KeyLimitsSchema, {
    expiresAt: expiresAt && timestampFromDate(expiresAt),
    tools: [...(tools ?? [])],
    ...(perCall !== undefined && { callUsdcMicrousd: perCall }),
    ...(perDay !== undefined && { dayUsdcMicrousd: perDay }),
  });
}

/** Common members of the requests that create a key. */
interface CreateRequest {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly limits?: KeyLimitsMessage | undefined;
}

export function requestedKey({ name, scopes, limits }: CreateRequest): RequestedKey {
  if (!limits) return { name, scopes, limits: undefined };
  const { expiresAt, callUsdcMicrousd: perCall, dayUsdcMicrousd: perDay, tools } = limits;
  return {
    name,
    scopes,
    limits: { expiresAt: expiresAt && timestampDate(expiresAt), perCall, perDay, tools },
  };
}
