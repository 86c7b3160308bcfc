import type { DescMessage, DescMethodUnary, DescService, Message, MessageShape } from "@bufbuild/protobuf";
import type { WireJson } from "./write.ts";

/** How a text of the URL becomes JSON: text, true/false, a whole number, or a number if it is one (enums). */
export type ParameterKind = "text" | "bool" | "integer" | "enum";

/** A request field that the URL can set. */
export interface Parameter {
  /** The field's path; each step by its written name and, where it differs, the other name that is read. */
  readonly path: readonly (readonly string[])[];
  readonly kind: ParameterKind;
  /** The names of an enum with `json_value`, the only ones accepted; absent for other enums. */
  readonly words?: readonly string[];
  /** Whether the parameter may be given more than once. */
  readonly repeated: boolean;
}

export interface PathVariable extends Parameter {
  /** Index of its first path segment. */
  readonly start: number;
  /** Index after its last segment; absent when it extends to the end of the path (`**`). */
  readonly end?: number;
  /** Whether it can hold several segments: an encoded slash stays encoded then (google.api.HttpRule). */
  readonly multi: boolean;
}

/** One HTTP binding of one unary method, as generated from its `google.api.http` annotation. */
export interface Route {
  readonly method: DescMethodUnary;
  /** HTTP method, or `*` for any. */
  readonly httpMethod: string;
  /** The path template as written, e.g. `/receipts/{id}`. */
  readonly pattern: string;
  /** The template's segments: percent-normalised literals, `*`, and `**` (last only). */
  readonly segments: readonly string[];
  /** Custom verb after the last segment, without its colon; empty when there is none. */
  readonly verb: string;
  readonly variables: readonly PathVariable[];
  /** Query parameters by every spelling that is read. */
  readonly query: ReadonlyMap<string, Parameter>;
  readonly unknownQuery: "deny" | "ignore";
  /** The request field that the body is: empty for none, `*` for the whole message. */
  readonly body: string;
  /** Reads the request message. @throws JsonFieldError */
  read(json: unknown, path?: string, depth?: number): Message;
  /** Writes the response's JSON; with `response_body`, that field's. */
  write(response: Message): WireJson;
}

export interface ServiceRoutes {
  readonly service: DescService;
  readonly routes: readonly Route[];
}

/** Runs one method: a service's handlers hold it under the route's `method.localName`. */
export type Handler<C> = { call(request: Message, context: C): Promise<Message> }["call"];

/** A service's implementation: one function for each unary method. Also a `Record<string, Handler<C>>`. */
export type ServiceHandlers<S extends DescService, C> = {
  [K in keyof S["method"]]: S["method"][K] extends {
    input: infer I extends DescMessage;
    output: infer O extends DescMessage;
  }
    ? { call(request: MessageShape<I>, context: C): Promise<MessageShape<O>> }["call"]
    : never;
};
