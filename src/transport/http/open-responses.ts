import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ConnectionLimits } from "./connection-limits.ts";

/** An open response and the controller that aborts when the client disconnects. */
interface OpenResponse {
  readonly response: ServerResponse;
  readonly gone: AbortController;
}

/** Tracks the open responses of each connection; keeps nothing for idle ones. */
export class OpenResponses {
  /** The latest response of each connection. */
  readonly #latest = new Map<Duplex, OpenResponse>();
  /** Open responses of connections that pipeline requests; may include finished ones. */
  readonly #pipelines = new Map<Duplex, OpenResponse[]>();
  /** Requests that wait until the client has read more. */
  readonly #deferred = new Map<Duplex, (() => void)[]>();
  readonly #limits: Pick<ConnectionLimits, "pipelined" | "unreadBytes">;

  constructor(limits: Pick<ConnectionLimits, "pipelined" | "unreadBytes">) {
    this.#limits = limits;
  }

  /**
   * @returns a signal that aborts when the client disconnects; undefined when too many requests are pipelined
   */
  add(socket: Socket, response: ServerResponse): AbortSignal | undefined {
    const before = this.#latest.get(socket);
    const answer: OpenResponse = { response, gone: new AbortController() };
    this.#latest.set(socket, answer);
    // Fires once anyway; removing the listener costs more than adding it.
    response.on("close", () => this.#closed(socket, answer));
    if (!before) return answer.gone.signal;
    const all = [...(this.#pipelines.get(socket) ?? [before]), answer];
    const { pipelined } = this.#limits;
    const waiting = all.length > pipelined ? all.filter((one) => !one.response.writableFinished) : all;
    this.#pipelines.set(socket, waiting);
    return waiting.length > pipelined ? undefined : answer.gone.signal;
  }

  /**
   * Serves requests of a connection in order, and waits while the client has too many unread bytes. A client
   * that pipelines and does not read costs the work of one response only.
   */
  inTurn(socket: Duplex, serve: () => void): void {
    const deferred = this.#deferred.get(socket);
    if (deferred) deferred.push(serve);
    else if (this.#isRead(socket)) serve();
    else this.#deferred.set(socket, [serve]);
  }

  #isRead(socket: Duplex): boolean {
    const earlier = this.#pipelines.get(socket);
    if (!earlier) return true;
    // Only the first response writes to the socket and counts its unread bytes.
    const unread = earlier.reduce((bytes, { response }) => bytes + unreadOf(response), 0);
    return unread < this.#limits.unreadBytes;
  }

  #resume(socket: Duplex): void {
    const deferred = this.#deferred.get(socket);
    if (!deferred) return;
    this.#deferred.delete(socket);
    for (const serve of deferred) this.inTurn(socket, serve);
  }

  #closed(socket: Socket, { response, gone }: OpenResponse): void {
    if (!response.writableFinished) gone.abort();
    // A body that the response did not need is not read: a megabyte in 1-byte chunks takes 200 ms.
    if (!response.req.complete && socket.writableEnded) socket.pause().destroySoon();
    if (this.latest(socket) === response) this.remove(socket);
    else this.#resume(socket);
  }

  /** Returns the latest open response of a connection; undefined when it is idle. */
  latest(socket: Duplex): ServerResponse | undefined {
    return this.#latest.get(socket)?.response;
  }

  /** Returns the unfinished responses of a connection in order. */
  waiting(socket: Duplex): ServerResponse[] {
    const latest = this.#latest.get(socket);
    const all = this.#pipelines.get(socket) ?? (latest ? [latest] : []);
    return all.map(({ response }) => response).filter(({ writableFinished }) => !writableFinished);
  }

  /** Iterates over the latest response of each busy connection. */
  *all(): Iterable<[Duplex, ServerResponse]> {
    for (const [socket, { response }] of this.#latest) yield [socket, response];
  }

  /** Removes a closed or idle connection. */
  remove(socket: Duplex): void {
    this.#latest.delete(socket);
    this.#pipelines.delete(socket);
    this.#deferred.delete(socket);
  }
}

function unreadOf({ writableFinished, writableLength }: ServerResponse): number {
  return writableFinished ? 0 : writableLength;
}
