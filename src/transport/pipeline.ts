import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodUnary,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { ToolgateError } from "../domain/errors.ts";
import type { Access, Admission } from "./access.ts";
import { failureOf, type ErrorLog, type Failure } from "./error-details.ts";
import type { Header } from "./header.ts";
import { rateLimitHeaders } from "./rate-limit-headers.ts";
import type { KeyedContext, RequestContext } from "./request-context.ts";
import type { Endpoint, ServiceBinding } from "./services/service-impl.ts";
import { validate } from "./validation.ts";

/** A method as every door serves it. */
export interface Operation<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly method: DescMethodUnary<I, O>;
  readonly endpoint: Endpoint<I, O>;
}

/** A request at a door: what the pipeline needs of it, and how to read its message. */
export interface IncomingCall extends Omit<RequestContext, "caller"> {
  /** Authorization, header or metadata, as sent. */
  readonly authorization: string | undefined;
  /**
   * Reads the request message. Called at most once, after the caller was let in, so that a body is not parsed for strangers.
   * @throws ToolgateError INVALID_REQUEST
   */
  read(method: DescMethodUnary): Message | Promise<Message>;
}

/** What a door answers. `headers` holds X-Request-Id, and X-RateLimit-* on every keyed answer. */
export type Outcome =
  | { readonly ok: true; readonly headers: readonly Header[]; readonly message: Message }
  | { readonly ok: false; readonly headers: readonly Header[]; readonly failure: Failure };

/** The way of every request through every door: key -> rate -> message -> rules of the contract -> rights -> service. */
export class Pipeline {
  readonly #access: Access;
  readonly #operations = new Map<DescMethod, Operation>();
  readonly #log: ErrorLog;

  constructor(access: Access, services: readonly ServiceBinding[], log: ErrorLog) {
    this.#access = access;
    this.#log = log;
    for (const { service, endpoints } of services) {
      for (const [name, endpoint] of Object.entries<Endpoint>(endpoints)) {
        const method = service.method[name];
        if (!method || !isUnary(method)) throw new Error(`${service.typeName} has no unary method ${name}`);
        this.#operations.set(method, { method, endpoint });
      }
    }
  }

  /**
   * The operation of a method.
   * @throws Error for a method of a service that was not given to the constructor
   */
  operation(method: DescMethod): Operation {
    const operation = this.#operations.get(method);
    if (!operation) throw new Error(`${method.toString()} is not served`);
    return operation;
  }

  /** Serves a request from its key to its answer. Never throws: whatever fails is told as a Failure. */
  async serve(operation: Operation, call: IncomingCall): Promise<Outcome> {
    const headers: Header[] = [["x-request-id", call.requestId]];
    try {
      const admission = await this.admit(operation, call.authorization);
      if (admission.rate) headers.push(...rateLimitHeaders(admission.rate));
      const request = await call.read(operation.method);
      const { requestId, signal, xPayment, idempotencyKey, memoForm } = call;
      const message = await this.answer(operation, request, {
        caller: admission.caller,
        requestId,
        signal,
        xPayment,
        idempotencyKey,
        memoForm,
      });
      return { ok: true, headers, message };
    } catch (error) {
      const failure = this.failure(error, call.requestId);
      headers.push(...failure.headers);
      return { ok: false, headers, failure };
    }
  }

  /**
   * The first half alone, for doors that answer some requests without a service: the key and its rate.
   * @throws ToolgateError UNAUTHORIZED; RateLimitedError
   */
  admit(operation: Operation, authorization: string | undefined): Promise<Admission> {
    return this.#access.admit(operation.endpoint.key, authorization);
  }

  /**
   * The second half alone: the rules of the contract, the rights, the service.
   * @throws ToolgateError and whatever the service throws
   */
  async answer<I extends DescMessage, O extends DescMessage>(
    { method, endpoint }: Operation<I, O>,
    request: MessageShape<I>,
    context: RequestContext,
  ): Promise<MessageShape<O>> {
    validate(method.input, request);
    const answer =
      endpoint.key === "required"
        ? await endpoint.call(request, demandRights(endpoint, context))
        : await endpoint.call(request, context);
    return create(method.output, answer);
  }

  /** What the caller is told of anything thrown. */
  failure(thrown: unknown, requestId: string): Failure {
    return failureOf(thrown, requestId, this.#log);
  }
}

function demandRights(endpoint: Extract<Endpoint, { key: "required" }>, context: RequestContext): KeyedContext {
  if (!isKeyed(context)) throw new ToolgateError("UNAUTHORIZED", "an API key is needed");
  const { scope, operator } = endpoint;
  if (operator && !context.caller.operator) {
    throw new ToolgateError(
      "FORBIDDEN",
      "this service is the operator's; use a key of an account that has the operator role",
    );
  }
  if (scope !== undefined && !context.caller.scopes.has(scope)) {
    throw new ToolgateError("FORBIDDEN", `the API key lacks the scope ${scope}; use a key that has it`);
  }
  return context;
}

function isKeyed(context: RequestContext): context is KeyedContext {
  return context.caller !== undefined;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}
