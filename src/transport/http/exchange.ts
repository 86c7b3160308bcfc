import type { IncomingMessage, ServerResponse } from "node:http";
import type { RequestRecord } from "../../app/operations/request-record.ts";
import type { Caller } from "../../domain/accounts/caller.ts";
import type { ClientInfo } from "../authentication.ts";
import type { Header } from "../headers.ts";

/** One request to a route of the contract, and its response. */
export interface HttpExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Aborts when the client disconnects before the response. */
  readonly gone: AbortSignal;
  readonly record: RequestRecord;
  /** Of the response. */
  readonly headers: Header[];
  readonly path: string;
  /** The path as asked for: the paid resource in x402. */
  readonly resource: string;
  readonly query: string;
  /** Whether the whole body was read; Node reports its end later. */
  bodyRead: boolean;
  /** Known after the authentication. */
  caller: Caller | undefined;
  client: ClientInfo | undefined;
  /** What was read, unless it is large. */
  body: Buffer | undefined;
  /** Gives back the memory of a large body. */
  release: (() => void) | undefined;
}
