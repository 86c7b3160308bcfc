import type {
  DescMessage,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { ActionName } from "../../app/operations/operator-actions.ts";
import type { Scope } from "../../domain/accounts/scope.ts";
import type { JsonObject } from "../../domain/core/json.ts";
import type { KeyRequirement } from "../authentication.ts";
import type { KeyedContext, RequestContext } from "../request-context.ts";

/** A method's response; a promise unless it is there at once. */
type Answer<O extends DescMessage> = MessageInitShape<O> | Promise<MessageInitShape<O>>;

/** A method without a required key; with `optional`, a key that is sent must be valid. */
export interface OpenEndpoint<I extends DescMessage, O extends DescMessage> {
  readonly key: Extract<KeyRequirement, "none" | "optional" | "wallet">;
  call(request: MessageShape<I>, context: RequestContext): Answer<O>;
}

/** A method that requires an API key, a session or the sign-in of a wallet. */
export interface KeyedEndpoint<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> {
  readonly key: Extract<KeyRequirement, "required" | "sign-in" | "key-or-sign-in">;
  /** Scope the key must have. */
  readonly scope?: Scope;
  /** Whether the account must have the operator role. */
  readonly operator?: boolean;
  /** Whether the sessions of a blocked account are refused; its keys always are. */
  readonly refuseBlocked?: boolean;
  /**
   * How the operator log describes it. "none" for a method that only reads but whose descriptor does not
   * state it.
   */
  readonly action?: AuditedAction<I> | "none";
  call(request: MessageShape<I>, context: KeyedContext): Answer<O>;
}

/** How the operator log describes a request. */
export interface AuditedAction<I extends DescMessage> {
  name(request: MessageShape<I>): ActionName;
  /** The object of the change, such as an account id. */
  target(request: MessageShape<I>): string;
  /** Parameters without secrets. Omit for the whole request. */
  details?(request: MessageShape<I>): JsonObject;
  /** Idempotency key. Omit for actions that may repeat. */
  idempotencyKey?(request: MessageShape<I>): string;
}

/** A method of a service: access rules and implementation. */
export type Endpoint<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> =
  | OpenEndpoint<I, O>
  | KeyedEndpoint<I, O>;

/** The implementation of a service, typed by its descriptor: a missing method does not compile. */
export type Service<S extends DescService> = {
  readonly [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? Endpoint<I, O>
    : never;
};

/** A service's descriptor and implementation. */
export interface ServiceBinding<S extends DescService = DescService> {
  readonly service: S;
  readonly endpoints: Service<S>;
}

export function bind<S extends DescService>(service: S, endpoints: Service<S>): ServiceBinding<S> {
  return { service, endpoints };
}
