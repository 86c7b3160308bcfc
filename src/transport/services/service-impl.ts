import type {
  DescMessage,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import type { ActionName } from "../../app/operations-ports.ts";
import type { Scope } from "../../domain/scope.ts";
import type { KeyedContext, RequestContext } from "../request-context.ts";

/** A method that anyone may call; with `optional`, a key that is sent must be good. */
export interface OpenEndpoint<I extends DescMessage, O extends DescMessage> {
  readonly key: "none" | "optional";
  call(request: MessageShape<I>, context: RequestContext): Promise<MessageInitShape<O>>;
}

/** A method that needs an API key. */
export interface KeyedEndpoint<I extends DescMessage, O extends DescMessage> {
  readonly key: "required";
  /** What the key must be allowed to do. */
  readonly scope?: Scope;
  /** Whether the key's account must have the operator role. */
  readonly operator?: boolean;
  /** How the operators' log tells of it; "none" for a method that only reads, where its descriptor does not say so. */
  readonly action?: AuditedAction<I> | "none";
  call(request: MessageShape<I>, context: KeyedContext): Promise<MessageInitShape<O>>;
}

/** What the operators' log says of a request. */
export interface AuditedAction<I extends DescMessage> {
  name(request: MessageShape<I>): ActionName;
  /** What it is done to. */
  target(request: MessageShape<I>): string;
  /** What makes it the same when it is asked for again; left out where each time counts. */
  once?(request: MessageShape<I>): string;
}

/** One method of a service: who may call it, and what it does. */
export type Endpoint<I extends DescMessage = DescMessage, O extends DescMessage = DescMessage> =
  | OpenEndpoint<I, O>
  | KeyedEndpoint<I, O>;

/** An implementation of a service, typed by its descriptor: a method that is missing does not compile. */
export type Service<S extends DescService> = {
  readonly [M in keyof S["method"]]: S["method"][M] extends DescMethodUnary<infer I, infer O>
    ? Endpoint<I, O>
    : never;
};

/** An implementation together with its descriptor. */
export interface ServiceBinding<S extends DescService = DescService> {
  readonly service: S;
  readonly endpoints: Service<S>;
}

/** Puts an implementation together with its descriptor. */
export function bind<S extends DescService>(service: S, endpoints: Service<S>): ServiceBinding<S> {
  return { service, endpoints };
}
