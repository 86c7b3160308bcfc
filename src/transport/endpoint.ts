import type {
  DescMessage,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { ActionName } from "../app/operations/operator-actions.ts";
import type { Caller } from "../domain/accounts/caller.ts";
import type { Scope } from "../domain/accounts/scope.ts";
import type { JsonObject } from "../domain/core/json.ts";
import type { KeyRequirement } from "./authentication.ts";
import type { RequestContext } from "./request-context.ts";

/** A method's response; a promise unless it is there at once. */
type Answer<O extends DescMessage> = MessageInitShape<O> | Promise<MessageInitShape<O>>;

/** Keys of methods that an anonymous client may call; with `optional`, a key that is sent must be valid. */
type OpenKey = Extract<KeyRequirement, "none" | "optional" | "wallet">;

/** Who may call the methods of a service. */
interface Access {
  readonly key: KeyRequirement;
  /** Scope the key must have. */
  readonly scope?: Scope;
  /** Whether the account must have the operator role. */
  readonly operator?: boolean;
  /** Whether the sessions of a blocked account are refused; its keys always are. */
  readonly refuseBlocked?: boolean;
}

export const KEY = { key: "required" } as const;
export const OPERATOR = { key: "required", operator: true } as const;
export const WALLET = { key: "wallet" } as const;
export const OPEN = { key: "none" } as const;

/** A method without a required key. */
interface OpenEndpoint<I extends DescMessage, O extends DescMessage> {
  readonly key: OpenKey;
  handle(request: MessageShape<I>, context: RequestContext): Answer<O>;
}

/** A method that requires an API key, a session or the sign-in of a wallet. */
export interface KeyedEndpoint<
  I extends DescMessage = DescMessage,
  O extends DescMessage = DescMessage,
> extends Access {
  readonly key: Exclude<KeyRequirement, OpenKey>;
  /** Operator log entry. "none": only reads, though its descriptor does not state it. */
  readonly action?: AuditedAction<I> | "none";
  handle(request: MessageShape<I>, context: RequestContext<Caller>): Answer<O>;
}

export interface AuditedAction<I extends DescMessage> {
  name(request: MessageShape<I>): ActionName;
  /** The object of the change, such as an account id. */
  target(request: MessageShape<I>): string;
  /** Parameters without secrets. Omit for the whole request. */
  details?(request: MessageShape<I>): JsonObject;
  /** Idempotency key. Omit for actions that may repeat. */
  idempotencyKey?(request: MessageShape<I>): string;
}

export type Endpoint<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> =
  | OpenEndpoint<I, O>
  | KeyedEndpoint<I, O>;

/** A method as its service states it. A function follows the rules of the service. */
type Method<I extends DescMessage, O extends DescMessage, K extends KeyRequirement> =
  | ((
      request: MessageShape<I>,
      context: K extends OpenKey ? RequestContext : RequestContext<Caller>,
    ) => Answer<O>)
  | Endpoint<I, O>;

/** The implementation of a service, typed by its descriptor: a missing method does not compile. */
export type Methods<S extends DescService, K extends KeyRequirement = "required"> = {
  readonly [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? Method<I, O, K>
    : never;
};

/** A service's descriptor, and its endpoints by the local names of the methods. */
export interface ServiceBinding {
  readonly service: DescService;
  readonly endpoints: Readonly<Record<string, Endpoint>>;
}

/** Binds a service to its implementation. @param access rules of the methods, which may add to them */
export function bind<S extends DescService, A extends Access>(
  service: S,
  access: A,
  methods: Methods<S, A["key"]>,
): ServiceBinding;
export function bind(
  service: DescService,
  access: Access,
  methods: Readonly<Record<string, Method<DescMessage, DescMessage, "required">>>,
): ServiceBinding {
  const endpoints: Record<string, Endpoint> = {};
  for (const [name, method] of Object.entries(methods)) {
    const rules = typeof method === "function" ? { handle: method } : method;
    endpoints[name] = { ...access, ...rules };
  }
  return { service, endpoints };
}
