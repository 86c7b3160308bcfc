import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { ConnectionLimits } from "./connection-limits.ts";

/** An answer under way, and what aborts when the caller goes away before it has it. */
interface OpenResponse {
  readonly response: ServerResponse;
  readonly gone: AbortController;
}

/** What each connection is being answered. One that is idle keeps nothing of the answers that it had. */
export class OpenResponses {
  /** Of several answers the last. */
  readonly #latest = new Map<Duplex, OpenResponse>();
  /** All answers of those that ask before they have one, as far as these are not known to be out. */
  readonly #pipelines = new Map<Duplex, OpenResponse[]>();
  /** Requests that wait until their caller has read more. */
  readonly #deferred = new Map<Duplex, (() => void)[]>();
  readonly #limits: Pick<ConnectionLimits, "pipelined" | "unreadBytes">;

  constructor(limits: Pick<ConnectionLimits, "pipelined" | "unreadBytes">) {
    this.#limits = limits;
  }

  /** @returns aborts when the caller goes away before it has this answer; undefined for one answer too many */
  add(socket: Duplex, response: ServerResponse): AbortSignal | undefined {
    const before = this.#latest.get(socket);
    const answer: OpenResponse = { response, gone: new AbortController() };
    this.#latest.set(socket, answer);
    // Comes once anyway, and taking the listener off again costs more than putting it on.
    response.on("close", () => this.#closed(socket, answer));
    if (!before) return answer.gone.signal;
    const all = [...(this.#pipelines.get(socket) ?? [before]), answer];
    const { pipelined } = this.#limits;
    const waiting = all.length > pipelined ? all.filter((one) => !one.response.writableFinished) : all;
    this.#pipelines.set(socket, waiting);
    return waiting.length > pipelined ? undefined : answer.gone.signal;
  }

  /**
   * Serves a request that was added, in the order of the connection: at once, or when fewer bytes of the answers before it wait to be
   * read. A caller that pipelines and does not read then costs the work of one answer, not of each.
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
    // Only the first of them writes to the socket, and counts what waits there.
    const unread = earlier.reduce((bytes, { response }) => bytes + unreadOf(response), 0);
    return unread < this.#limits.unreadBytes;
  }

  #resume(socket: Duplex): void {
    const deferred = this.#deferred.get(socket);
    if (!deferred) return;
    this.#deferred.delete(socket);
    for (const serve of deferred) this.inTurn(socket, serve);
  }

  #closed(socket: Duplex, { response, gone }: OpenResponse): void {
    if (!response.writableFinished) gone.abort();
    if (this.latest(socket) === response) this.remove(socket);
    else this.#resume(socket);
  }

  /** The answer to what was asked last over a connection; undefined when that is idle. */
  latest(socket: Duplex): ServerResponse | undefined {
    return this.#latest.get(socket)?.response;
  }

  /** The answers of a connection that are not out yet, in their order. */
  waiting(socket: Duplex): ServerResponse[] {
    const latest = this.#latest.get(socket);
    const all = this.#pipelines.get(socket) ?? (latest ? [latest] : []);
    return all.map(({ response }) => response).filter(({ writableFinished }) => !writableFinished);
  }

  /** Of each connection that is not idle, the answer to what was asked last. */
  *all(): Iterable<[Duplex, ServerResponse]> {
    for (const [socket, { response }] of this.#latest) yield [socket, response];
  }

  /** Keeps nothing of a connection that is gone. */
  remove(socket: Duplex): void {
    this.#latest.delete(socket);
    this.#pipelines.delete(socket);
    this.#deferred.delete(socket);
  }
}

function unreadOf({ writableFinished, writableLength }: ServerResponse): number {
  return writableFinished ? 0 : writableLength;
}
