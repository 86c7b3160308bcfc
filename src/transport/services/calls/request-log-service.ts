import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type RequestFilter,
  RequestBodies,
  RequestLogService,
  RequestOutcome,
} from "#gen/toolgate/console/v1/request_log_service_pb.ts";
import type {
  ListedRequest,
  RequestLogQueries,
  RequestOutcome as Outcome,
  RequestBody,
} from "../../../app/operations/account-requests.ts";
import type { RequestBodies as Bodies } from "../../../domain/accounts/caller.ts";
import { invalidField } from "../../../domain/core/errors.ts";
import { accountIdIn, keyIdIn, toolIn, dateIn } from "../request-fields.ts";
import { DEFAULT_LIMIT, found, statusIn } from "../page.ts";
import { bind, KEY, type ServiceBinding } from "../../endpoint.ts";

/** The request log, for the account holder; operators see no params and results. */
export function requestLogService(requests: RequestLogQueries): ServiceBinding {
  return bind(RequestLogService, KEY, {
    async listRequests({ limit = DEFAULT_LIMIT, cursor, filter, accountId }, { caller }) {
      const { items, nextCursor } = await requests.list({
        accountId: accountIdIn(accountId, caller),
        limit,
        cursor,
        ...conditionsOf(filter),
      });
      return { items: items.map(requestMessage), nextCursor };
    },
    async getRequest({ id, accountId }, { caller }) {
      const readId = accountIdIn(accountId, caller);
      const { body, ...request } = found(await requests.find(readId, id), "request");
      return {
        request: requestMessage(request),
        // Params and results are the customer's data.
        ...(readId === caller.accountId && body && bodyMessage(body)),
      };
    },
    async deleteRequests({ id }, { caller }) {
      return { deleted: await requests.delete(caller.accountId, id === "" ? undefined : id) };
    },
    async getRequestLogSettings(_request, { caller }) {
      const { bodies, hours } = await requests.settings(caller.accountId);
      return { bodies: BODIES[bodies], hours };
    },
    async setRequestLogSettings({ bodies, hours }, { caller }) {
      const stored = statusIn("bodies", bodies, BODIES) ?? "none";
      await requests.setSettings(caller.accountId, { bodies: stored, hours });
      return {};
    },
  });
}

const OUTCOME: Readonly<Record<Outcome, RequestOutcome>> = {
  succeeded: RequestOutcome.SUCCEEDED,
  payment_required: RequestOutcome.PAYMENT_REQUIRED,
  refused: RequestOutcome.REFUSED,
  failed: RequestOutcome.FAILED,
};

const BODIES: Readonly<Record<Bodies, RequestBodies>> = {
  none: RequestBodies.NONE,
  errors: RequestBodies.ERRORS,
  all: RequestBodies.ALL,
};

function conditionsOf(filter: RequestFilter | undefined) {
  const [from, to] = [dateIn("filter.from", filter?.from), dateIn("filter.to", filter?.to)];
  if (from && to && to <= from) throw invalidField("filter.to", "must be after filter.from");
  return {
    outcome: statusIn("filter.outcome", filter?.outcome ?? 0, OUTCOME),
    tool: toolIn("filter.tool", filter?.tool),
    keyId: keyIdIn("filter.key_id", filter?.keyId),
    from,
    to,
    minCharged: filter?.minChargedUsdcMicrousd,
  };
}

function bodyMessage({ params, result, message = "", omitted }: RequestBody) {
  return {
    stored: true,
    message,
    omitted: [...omitted],
    ...(params && { params }),
    ...(result && { result }),
  };
}

function requestMessage({
  receivedAt,
  expiresAt,
  charged,
  ms,
  toolMs,
  paymentMs,
  ...request
}: ListedRequest) {
  const { id, requestId, keyName, transport, method, status, repeats } = request;
  return {
    id,
    requestId,
    keyName,
    transport,
    method,
    status,
    repeats,
    keyId: request.keyId ?? "",
    tool: request.tool ?? "",
    code: request.code ?? "",
    runId: request.runId ?? "",
    receiptId: request.receiptId ?? "",
    traceId: request.traceId ?? "",
    chargedUsdcMicrousd: charged,
    totalUs: microseconds(ms),
    toolUs: microseconds(toolMs),
    paymentUs: microseconds(paymentMs),
    receivedAt: timestampFromDate(receivedAt),
    expiresAt: timestampFromDate(expiresAt),
  };
}

function microseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1000));
}
