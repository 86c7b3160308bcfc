import {
  toJson,
  type DescMessage,
  type DescMethod,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  recordedAction,
  type RecordedActionDeps,
  type NewAction,
} from "../../../app/operations/operator-actions.ts";
import type { Caller } from "../../../domain/accounts/caller.ts";
import { isJsonObject } from "../../../domain/core/json.ts";
import type { RequestContext } from "../../request-context.ts";
import type { AuditedAction, Endpoint, ServiceBinding } from "../../endpoint.ts";

/** Logs each change by an operator before it runs. @throws Error for a changing method without an action */
export function audited({ service, endpoints }: ServiceBinding, deps: RecordedActionDeps): ServiceBinding {
  const entries = Object.entries(endpoints).map(([name, endpoint]): [string, Endpoint] => {
    const method = service.method[name];
    return [name, method ? auditedEndpoint(method, endpoint, deps) : endpoint];
  });
  return { service, endpoints: Object.fromEntries(entries) };
}

function auditedEndpoint(method: DescMethod, endpoint: Endpoint, deps: RecordedActionDeps): Endpoint {
  if (endpoint.key !== "required" || endpoint.operator !== true || onlyReads(method)) return endpoint;
  const { action } = endpoint;
  if (action === "none") return endpoint;
  if (action === undefined) throw new Error(`${method.toString()} has no action for the operator log`);
  return {
    ...endpoint,
    handle: (request: Message, context: RequestContext<Caller>) =>
      recordedAction(deps, actionOf(method.input, action, request, context.caller), async () =>
        endpoint.handle(request, context),
      ),
  };
}

function onlyReads(method: DescMethod): boolean {
  return method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

function actionOf<I extends DescMessage>(
  input: I,
  action: AuditedAction<I>,
  request: MessageShape<I>,
  { accountId, keyId }: Caller,
): NewAction {
  const details = action.details?.(request) ?? toJson(input, request, { useProtoFieldName: true });
  return {
    actor: { accountId, name: keyId },
    name: action.name(request),
    target: action.target(request),
    details: isJsonObject(details) ? details : {},
    idempotencyKey: action.idempotencyKey?.(request),
  };
}
