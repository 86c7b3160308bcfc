import { MAX_CONNECTIONS } from "../limits.ts";

/** Limits of HTTP/1.1 connections; times in ms. */
export interface ConnectionLimits {
  /** To receive the headers of a request. */
  readonly headMs: number;
  /** To receive a whole request. */
  readonly requestMs: number;
  /** Without any transferred byte while a response waits to be read. */
  readonly stallMs: number;
  /** Between a response and the next request. */
  readonly idleMs: number;
  /** For the client to close a connection after an error. */
  readonly lingerMs: number;
  /** Interval of the checks of headMs and requestMs. */
  readonly checkMs: number;
  readonly connections: number;
  /** Pipelined requests per connection. */
  readonly pipelined: number;
  /** Unread bytes of earlier responses above which the next pipelined request waits. */
  readonly unreadBytes: number;
}

/** Slow clients must not hold connections for ever, nor many clients hold all of them. */
export const CONNECTION_LIMITS: ConnectionLimits = {
  headMs: 15_000,
  requestMs: 60_000,
  stallMs: 60_000,
  idleMs: 75_000,
  lingerMs: 2_000,
  checkMs: 5_000,
  connections: MAX_CONNECTIONS,
  pipelined: 32,
  unreadBytes: 64 * 1024,
};
