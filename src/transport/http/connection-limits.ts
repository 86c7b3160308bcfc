import { MAX_CONNECTIONS } from "../max-connections.ts";

/** What connections of the HTTP/1.1 door may take; times in ms. */
export interface ConnectionLimits {
  /** For the head of a request. */
  readonly headMs: number;
  /** For a whole request. */
  readonly requestMs: number;
  /** Without a byte on the way, while an answer waits to be read. */
  readonly stallMs: number;
  /** Between an answer and the next request. */
  readonly idleMs: number;
  /** For the caller to end a connection that it was refused on. */
  readonly lingerMs: number;
  /** How often heads and requests are looked at that are on their way. */
  readonly checkMs: number;
  /** How many there may be. */
  readonly connections: number;
  /** Requests of one that may wait for their answers. */
  readonly pipelined: number;
  /** Bytes of earlier answers that may wait to be read when the next request of a connection is worked on. */
  readonly unreadBytes: number;
}

/** Slow callers must not hold a connection for ever, nor many callers all of them. */
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
