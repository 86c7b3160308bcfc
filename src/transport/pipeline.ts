import type { Log } from "../domain/core/log.ts";
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { ToolgateError } from "../domain/core/errors.ts";
import { MissingScopeError } from "../app/calls/call-errors.ts";
import type { RequestRecorder, RequestRecord } from "../app/operations/request-record.ts";
import { failureOf, type Failure } from "./error-details.ts";
import type { Authentication, Credentials, RequestAuthenticator } from "./authentication.ts";
import { blockedMessage, RatedError } from "./key-authenticator.ts";
import type { Caller } from "../domain/accounts/caller.ts";
import type { RequestContext } from "./request-context.ts";
import type { Endpoint, KeyedEndpoint, ServiceBinding } from "./endpoint.ts";
import type { MessageSizes } from "./message-size.ts";
import type { UnpaidTime } from "./unpaid-time.ts";
import { validate } from "./validation.ts";

/** A method as every transport serves it. */
export interface Operation<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly method: DescMethodUnary<I, O>;
  readonly endpoint: Endpoint<I, O>;
  /** Name in metrics and logs, such as `ToolService/CallTool`. */
  readonly name: string;
}

export interface PipelineParts {
  readonly log: Pick<Log, "error">;
  readonly requests: RequestRecorder;
  readonly time: UnpaidTime;
  readonly sizes: MessageSizes;
}

/** The steps of every request: `authenticate` before the body, then `invoke`; `failure` maps errors. */
export class Pipeline {
  readonly #authenticator: RequestAuthenticator;
  readonly #operations = new Map<DescMethod, Operation>();
  readonly #log: Pick<Log, "error">;
  /** Where each transport records its requests. */
  readonly requests: RequestRecorder;
  /** Where each transport measures their work. */
  readonly time: UnpaidTime;
  /** Where each transport checks a message before it reads it. */
  readonly sizes: MessageSizes;
  /** Calls that are running. */
  #working = 0;
  /** Resolves when none is. */
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(
    authenticator: RequestAuthenticator,
    services: readonly ServiceBinding[],
    { log, requests, time, sizes }: PipelineParts,
  ) {
    this.#authenticator = authenticator;
    this.#log = log;
    this.requests = requests;
    this.time = time;
    this.sizes = sizes;
    for (const { service, endpoints } of services) {
      for (const [name, endpoint] of Object.entries(endpoints)) {
        const method = service.method[name];
        if (!method || !isUnary(method)) throw new Error(`${service.typeName} has no unary method ${name}`);
        this.#operations.set(method, { method, endpoint, name: `${service.name}/${method.name}` });
      }
    }
  }

  /** Returns the operation of a method. @throws Error for a method of an unknown service */
  operation(method: DescMethod): Operation {
    const operation = this.#operations.get(method);
    if (!operation) throw new Error(`${method.toString()} is not served`);
    return operation;
  }

  /** Checks credentials, rate and time. @throws ToolgateError UNAUTHORIZED, FORBIDDEN, RATE_LIMITED */
  authenticate(
    operation: Operation,
    credentials: Credentials,
    record: RequestRecord,
  ): Authentication | Promise<Authentication> {
    const found = this.#authenticator.authenticate(operation.endpoint.key, credentials);
    return found instanceof Promise
      ? found.then((later) => this.#admit(later, credentials, record))
      : this.#admit(found, credentials, record);
  }

  #admit(found: Authentication, credentials: Credentials, record: RequestRecord): Authentication {
    record.caller = found.caller;
    this.time.admit(record, found, credentials);
    return found;
  }

  /** Checks scopes and rules, then calls the service. @throws ToolgateError and what the service throws */
  invoke<I extends DescMessage, O extends DescMessage>(
    operation: Operation<I, O>,
    request: MessageShape<I>,
    context: RequestContext,
  ): MessageShape<O> | Promise<MessageShape<O>> {
    const answer = call(operation, request, context);
    return answer instanceof Promise
      ? this.#finish(operation.method.output, answer)
      : create(operation.method.output, answer);
  }

  async #finish<O extends DescMessage>(
    output: O,
    working: Promise<MessageInitShape<O>>,
  ): Promise<MessageShape<O>> {
    this.#working++;
    try {
      return create(output, await working);
    } finally {
      if (--this.#working === 0) {
        this.#idle?.resolve();
        this.#idle = undefined;
      }
    }
  }

  /** Resolves when no call is running, including those of disconnected clients. */
  async idle(): Promise<void> {
    while (this.#working > 0) await (this.#idle ??= Promise.withResolvers()).promise;
  }

  /** Maps a thrown value to a client error. @param record notes it as the request's outcome */
  failure(thrown: unknown, requestId: string, record?: RequestRecord): Failure {
    const failure = failureOf(thrown, requestId, this.#log);
    record?.failed(failure.error);
    if (record && thrown instanceof RatedError) record.caller ??= thrown.caller;
    return failure;
  }
}

/** Checks rights and request, then calls the endpoint. @throws ToolgateError and what the endpoint throws */
function call<I extends DescMessage, O extends DescMessage>(
  { method, endpoint }: Operation<I, O>,
  request: MessageShape<I>,
  context: RequestContext,
): MessageInitShape<O> | Promise<MessageInitShape<O>> {
  if (!isKeyedEndpoint(endpoint)) {
    validate(method.input, request);
    return endpoint.handle(request, context);
  }
  const keyed = requireRights(endpoint, context);
  validate(method.input, request);
  return endpoint.handle(request, keyed);
}

function requireRights(
  endpoint: Omit<KeyedEndpoint, "handle" | "action">,
  context: RequestContext,
): RequestContext<Caller> {
  if (!isKeyed(context)) throw new ToolgateError("UNAUTHORIZED", "an API key is required");
  const { scope, operator, refuseBlocked } = endpoint;
  const { blockedReason } = context.caller;
  if (refuseBlocked && blockedReason !== undefined)
    throw new ToolgateError("FORBIDDEN", blockedMessage(blockedReason));
  if (operator && !context.caller.operator) {
    throw new ToolgateError("FORBIDDEN", "this service requires the operator role");
  }
  if (scope !== undefined && !context.caller.scopes.has(scope)) {
    throw new MissingScopeError(scope, context.caller);
  }
  return context;
}

function isKeyedEndpoint<I extends DescMessage, O extends DescMessage>(
  endpoint: Endpoint<I, O>,
): endpoint is KeyedEndpoint<I, O> {
  const { key } = endpoint;
  return key === "required" || key === "sign-in" || key === "key-or-sign-in";
}

function isKeyed(context: RequestContext): context is RequestContext<Caller> {
  return context.caller !== undefined;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}
