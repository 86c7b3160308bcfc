import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type ApiKey as ApiKeyMessage,
  ApiKeySchema,
  type KeyLimits as KeyLimitsMessage,
  KeyLimitsSchema,
  OAuthClientSchema,
} from "#gen/toolgate/v1/key_service_pb.ts";
import type { ApiKey } from "../../../app/accounts/api-keys.ts";
import { isBudget, type KeyLimits } from "../../../domain/accounts/budget.ts";
import {
  type KeyChange,
  type KeyRules,
  type RequestedKey,
  type RequestedLimits,
  validateKeyChange,
} from "../../../domain/accounts/new-key.ts";
import { dateIn } from "../request-fields.ts";
import { budgetFields, requestedBudget, useMessage } from "../../budget-message.ts";

/** Returns the message of a key, without its secret. */
export function keyMessage({ createdAt, revokedAt, limits, budgets, client, ...key }: ApiKey): ApiKeyMessage {
  return create(ApiKeySchema, {
    keyId: key.keyId,
    accountId: key.accountId,
    prefix: key.prefix,
    name: key.name,
    scopes: key.scopes,
    createdAt: timestampFromDate(createdAt),
    revokedAt: revokedAt && timestampFromDate(revokedAt),
    limits: limits && limitsMessage(limits),
    groupId: key.groupId ?? "",
    budgets: budgets.map(useMessage),
    ...(client && { client: create(OAuthClientSchema, client) }),
  });
}

function limitsMessage({ expiresAt, perCall, tools, ...budget }: KeyLimits): KeyLimitsMessage {
  return create(KeyLimitsSchema, {
    expiresAt: expiresAt && timestampFromDate(expiresAt),
    tools: [...(tools ?? [])],
    ...(perCall !== undefined && { callUsdcMicrousd: perCall }),
    ...(isBudget(budget) && budgetFields(budget)),
  });
}

interface CreateRequest {
  readonly name: string;
  readonly scopes: readonly string[];
  readonly limits?: KeyLimitsMessage | undefined;
  readonly groupId: string;
}

export function requestedKey({ limits, ...key }: CreateRequest): RequestedKey {
  return { ...key, limits: requestedLimits(limits) };
}

interface ChangeRequest {
  readonly name?: string | undefined;
  readonly limits?: KeyLimitsMessage | undefined;
  readonly expectedLimits?: KeyLimitsMessage | undefined;
  readonly groupId?: string | undefined;
}

/** @throws ToolgateError INVALID_REQUEST */
export function requestedChange(
  { limits, expectedLimits, ...change }: ChangeRequest,
  rules: KeyRules,
): KeyChange {
  const expected = requestedLimits(expectedLimits, "expected_limits");
  return validateKeyChange(
    { name: undefined, groupId: undefined, ...change, limits: requestedLimits(limits), expected },
    rules,
  );
}

export function requestedLimits(
  limits: KeyLimitsMessage | undefined,
  field = "limits",
): RequestedLimits | undefined {
  if (!limits) return undefined;
  const { expiresAt, callUsdcMicrousd: perCall, tools } = limits;
  return {
    expiresAt: dateIn(`${field}.expires_at`, expiresAt),
    perCall,
    tools,
    ...requestedBudget(limits),
  };
}
