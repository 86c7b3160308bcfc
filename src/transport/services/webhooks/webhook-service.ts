import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { WebhookService } from "#gen/toolgate/v1/webhook_service_pb.ts";
import {
  type ActionName,
  recordedAction,
  type RecordedActionDeps,
} from "../../../app/operations/operator-actions.ts";
import {
  OPERATORS,
  type WebhookAttempt,
  type WebhookEndpoint,
  type WebhookEndpoints,
  type WebhookOwner,
} from "../../../app/webhooks/webhook-endpoints.ts";
import type { Caller } from "../../../domain/accounts/caller.ts";
import { invalidField, ToolgateError } from "../../../domain/core/errors.ts";
import {
  endpointUrl,
  ACCOUNT_EVENTS,
  type EventType,
  OPERATOR_EVENTS,
} from "../../../domain/webhooks/webhook.ts";
import { DEFAULT_LIMIT, found } from "../page.ts";
import { bind, type ServiceBinding } from "../../endpoint.ts";
import { dateIn } from "../request-fields.ts";
import type { TokenBuckets } from "../../token-buckets.ts";

export interface WebhookServiceDeps extends RecordedActionDeps {
  readonly endpoints: WebhookEndpoints;
  /** Of requests that make the gateway send to an endpoint, by owner. */
  readonly sends: TokenBuckets;
  /** Whether http:// URLs are allowed. */
  readonly http: boolean;
}

const BILLING = { key: "required", scope: "billing:write" } as const;

/** Webhook endpoints of an account, and for operators those of the deployment. */
export function webhookService(deps: WebhookServiceDeps): ServiceBinding {
  const { endpoints, http, sends } = deps;
  return bind(WebhookService, BILLING, {
    async listWebhookEndpoints({ deployment }, { caller }) {
      const listed = await endpoints.list(ownerOf(deployment, caller));
      return { endpoints: listed.map(endpointMessage), knownTypes: [...typesFor(deployment)] };
    },
    async createWebhookEndpoint({ url, types, deployment }, { caller }) {
      const owner = ownerOf(deployment, caller);
      const wanted = { owner, url: endpointUrl(url, { http }), types: typesIn(types, deployment) };
      takeSend(sends, owner);
      const created = await recorded(deps, caller, owner, "webhook.create", url, () =>
        endpoints.create(wanted),
      );
      return { endpoint: endpointMessage(created.endpoint), secret: created.secret };
    },
    async updateWebhookEndpoint({ endpointId, url, types, enabled, deployment }, { caller }) {
      const owner = ownerOf(deployment, caller);
      const change = {
        url: url === undefined ? undefined : endpointUrl(url, { http }),
        types: types.length === 0 ? undefined : typesIn(types, deployment),
        enabled,
      };
      if (url !== undefined || enabled === true) takeSend(sends, owner);
      const changed = await recorded(deps, caller, owner, "webhook.update", endpointId, () =>
        endpoints.update(owner, endpointId, change),
      );
      return { endpoint: endpointMessage(found(changed, KIND)) };
    },
    async deleteWebhookEndpoint({ endpointId, deployment }, { caller }) {
      const owner = ownerOf(deployment, caller);
      const deleted = await recorded(deps, caller, owner, "webhook.delete", endpointId, () =>
        endpoints.delete(owner, endpointId),
      );
      found(deleted || undefined, KIND);
      return {};
    },
    async rotateWebhookSecret({ endpointId, overlapSeconds, deployment }, { caller }) {
      const owner = ownerOf(deployment, caller);
      const rotated = await recorded(deps, caller, owner, "webhook.rotate", endpointId, () =>
        endpoints.rotateSecret(owner, endpointId, overlapSeconds * 1_000),
      );
      const { endpoint, secret } = found(rotated, KIND);
      return { endpoint: endpointMessage(endpoint), secret };
    },
    async sendTestWebhook({ endpointId, deployment }, { caller }) {
      const owner = ownerOf(deployment, caller);
      takeSend(sends, owner);
      const eventId = await endpoints.sendTest(owner, endpointId);
      return { eventId: found(eventId, "enabled webhook endpoint") };
    },
    async replayWebhooks({ endpointId, eventId, since, deployment }, { caller }) {
      if ((eventId === "") === (since === undefined))
        throw invalidField("event_id", "set either event_id or since");
      const from = dateIn("since", since);
      const selection = from === undefined ? { eventId } : { since: from };
      const owner = ownerOf(deployment, caller);
      takeSend(sends, owner);
      const replayed = found(await endpoints.replay(owner, endpointId, selection), KIND);
      if (replayed === 0 && from === undefined) found(undefined, "event");
      return { events: BigInt(replayed) };
    },
    async listWebhookAttempts({ endpointId, limit = DEFAULT_LIMIT, cursor, deployment }, { caller }) {
      const owner = ownerOf(deployment, caller);
      const page = found(await endpoints.attempts({ owner, endpointId, limit, cursor }), KIND);
      return { items: page.items.map(attemptMessage), nextCursor: page.nextCursor };
    },
  });
}

const KIND = "webhook endpoint";

/** @throws ToolgateError FORBIDDEN for the deployment's without the operator role */
function ownerOf(deployment: boolean, { accountId, operator }: Caller): WebhookOwner {
  if (!deployment) return accountId;
  if (!operator) throw new ToolgateError("FORBIDDEN", "deployment: requires the operator role; leave it out");
  return OPERATORS;
}

/** @throws ToolgateError RATE_LIMITED */
function takeSend(sends: TokenBuckets, owner: WebhookOwner): void {
  const { allowed, limit, retryAfterSeconds } = sends.take(owner);
  if (allowed) return;
  throw new ToolgateError(
    "RATE_LIMITED",
    `too many new or enabled endpoints, test events and replays of this account (${limit} per minute); ` +
      `try again in ${retryAfterSeconds} s`,
    { retryAfterSeconds },
  );
}

/** Changes of the deployment's endpoints are in the operator log. */
function recorded<Result>(
  deps: RecordedActionDeps,
  { accountId, keyId }: Caller,
  owner: WebhookOwner,
  name: ActionName,
  target: string,
  work: () => Promise<Result>,
): Promise<Result> {
  if (owner !== OPERATORS) return work();
  const actor = { accountId, name: keyId };
  return recordedAction(deps, { actor, name, target, details: {}, idempotencyKey: undefined }, work);
}

function typesFor(deployment: boolean): readonly EventType[] {
  return deployment ? OPERATOR_EVENTS : ACCOUNT_EVENTS;
}

/** @throws ToolgateError INVALID_REQUEST for an unknown type */
function typesIn(texts: readonly string[], deployment: boolean): EventType[] {
  const known = typesFor(deployment);
  return texts.map((text, index) => {
    const type = known.find((one) => one === text);
    if (type === undefined) throw invalidField(`types[${index}]`, `must be one of ${known.join(", ")}`);
    return type;
  });
}

function endpointMessage(endpoint: WebhookEndpoint) {
  const { failingSince, retryAt, oldSecretUntil, createdAt, types, disabledReason, ...same } = endpoint;
  return {
    ...same,
    types: [...types],
    disabledReason: disabledReason ?? "",
    createdAt: timestampFromDate(createdAt),
    ...(failingSince && { failingSince: timestampFromDate(failingSince) }),
    ...(retryAt && { retryAt: timestampFromDate(retryAt) }),
    ...(oldSecretUntil && { oldSecretUntil: timestampFromDate(oldSecretUntil) }),
  };
}

function attemptMessage({ eventId, type, startedAt, ms, status, error }: WebhookAttempt) {
  return {
    eventId,
    type,
    startedAt: timestampFromDate(startedAt),
    ms,
    error: error ?? "",
    ...(status !== undefined && { status }),
  };
}
