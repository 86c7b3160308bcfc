import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionLimits } from "./connection-limits.ts";

interface OpenResponse {
  readonly response: ServerResponse;
  readonly gone: AbortController;
}

/** What is open on one connection; empty while it is idle. */
interface Connection {
  latest: OpenResponse | undefined;
  /** Open responses when the client pipelines requests; may include finished ones. */
  pipeline: OpenResponse[] | undefined;
  /** Requests that wait until the client has read more. */
  deferred: (() => void)[] | undefined;
}

/** Shared, since a stack trace of each costs more than most requests. */
const DISCONNECTED = new DOMException("The client disconnected", "AbortError");

/**
 * Tracks the open responses of each connection, and adds and deletes nothing per request: V8 chains the
 * tables that a Map or Set outgrows, so once one is in the old generation, all that the next ones have held
 * is promoted, too. That cost a quarter of a 402's CPU time.
 */
export class OpenResponses {
  /** An entry lasts as long as its connection. */
  readonly #connections = new WeakMap<Duplex, Connection>();
  readonly #limits: Pick<ConnectionLimits, "pipelined" | "unreadBytes">;
  readonly #onIdle: (socket: Socket) => void;

  /** @param onIdle called when all responses of a connection have ended */
  constructor(limits: Pick<ConnectionLimits, "pipelined" | "unreadBytes">, onIdle: (socket: Socket) => void) {
    this.#limits = limits;
    this.#onIdle = onIdle;
  }

  /** @returns a signal that aborts on disconnect; undefined when too many requests are pipelined */
  add(socket: Socket, response: ServerResponse): AbortSignal | undefined {
    const connection = this.#connectionOf(socket);
    const { latest: before, pipeline } = connection;
    const answer: OpenResponse = { response, gone: new AbortController() };
    connection.latest = answer;
    // Fires once anyway; removing the listener costs more than adding it.
    response.on("close", () => this.#closed(socket, connection, answer));
    if (!before) return answer.gone.signal;
    const all = [...(pipeline ?? [before]), answer];
    const { pipelined } = this.#limits;
    const waiting = all.length > pipelined ? all.filter((one) => !one.response.writableFinished) : all;
    connection.pipeline = waiting;
    return waiting.length > pipelined ? undefined : answer.gone.signal;
  }

  #connectionOf(socket: Duplex): Connection {
    const known = this.#connections.get(socket);
    if (known) return known;
    const connection: Connection = { latest: undefined, pipeline: undefined, deferred: undefined };
    this.#connections.set(socket, connection);
    return connection;
  }

  /** Serves a connection in order; a client that pipelines without reading costs one response only. */
  inTurn(socket: Duplex, serve: () => void): void {
    const connection = this.#connectionOf(socket);
    if (connection.deferred) connection.deferred.push(serve);
    else if (this.#isRead(connection)) serve();
    else connection.deferred = [serve];
  }

  #isRead({ pipeline }: Connection): boolean {
    if (!pipeline) return true;
    // Only the first response writes to the socket and counts its unread bytes.
    const unread = pipeline.reduce((bytes, { response }) => bytes + unreadOf(response), 0);
    return unread < this.#limits.unreadBytes;
  }

  #closed(socket: Socket, connection: Connection, { response, gone }: OpenResponse): void {
    if (!response.writableFinished) gone.abort(DISCONNECTED);
    // A body that the response did not need is not read: a megabyte in 1-byte chunks takes 200 ms.
    if (!response.req.complete && socket.writableEnded) socket.pause().destroySoon();
    const { latest, deferred } = connection;
    if (latest?.response === response || socket.destroyed) {
      connection.latest = connection.pipeline = connection.deferred = undefined;
      this.#onIdle(socket);
    } else if (deferred) {
      connection.deferred = undefined;
      for (const serve of deferred) this.inTurn(socket, serve);
    }
  }

  /** Whether the connection ends after its latest response: later requests get none (RFC 9112 9.6). */
  isEnding(socket: Duplex): boolean {
    return this.#connections.get(socket)?.latest?.response.shouldKeepAlive === false;
  }

  isBusy(socket: Duplex): boolean {
    return this.#connections.get(socket)?.latest !== undefined;
  }

  /** Returns the unfinished responses of a connection in order. */
  waiting(socket: Duplex): ServerResponse[] {
    const { latest, pipeline } = this.#connectionOf(socket);
    const all = pipeline ?? (latest ? [latest] : []);
    return all.map(({ response }) => response).filter(({ writableFinished }) => !writableFinished);
  }
}

function unreadOf({ writableFinished, writableLength }: ServerResponse): number {
  return writableFinished ? 0 : writableLength;
}
